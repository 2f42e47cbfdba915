/** Types of the device in JavaScript; docs/how-to/answer-in-the-browser.md shows how it is used. */

import type { Domain, Label, Program, QuestionDocument, SurveyDocument } from "./documents.js";

/** What a person may answer: a number, a label, a basket of items; null where there is no answer. */
export type Answer = Label | Label[] | null;

/** What is sent of an answer. */
export type Sent = Label | Label[] | null | { size: number; seed: string } | { size: number; bitmap: string };

/** γ or another exact number. */
export interface Fraction { num: bigint; den: bigint }

export interface Question extends QuestionDocument {
  /** What is executed. */
  blur: Mechanism;
}

export interface Survey extends SurveyDocument {
  questions: Question[];
  /** The questions that are drawn from; none in version 1. */
  drawn: Question[];
  /** The report of somebody who answers nothing. */
  blank: Record<string, Sent>;
}

/** Read a survey; it is refused where it is newer, or where its identities are not those computed here. */
export function readSurvey(document: unknown): Promise<Survey>;

export interface Options {
  /** The device's own secret: 16 bytes or more, made once, kept, never sent. */
  secret: Uint8Array;
  /** Who receives the reports: an address that the device knows for itself. */
  collector: string;
  /** Without one nothing is remembered. */
  ledger?: Ledger;
  /** The level that is chosen, by question; else the default. */
  levels?: Record<string, string>;
  /** The day that the ledger notes, "2026-05-12". */
  today?: string;
}

/** The questions that this device answers; it draws them by its secret, so that asking again asks the same. */
export function asks(survey: Survey, options: Pick<Options, "secret" | "collector">): Promise<Question[]>;

export interface Reply {
  plan: string;
  /** The same for the same report. */
  id: string;
  report: Record<string, Sent>;
  told: Told[];
}

/** A person's reports, remembered before they are returned; all of them or, beyond the limit (`LimitError`), none. */
export function answer(survey: Survey, answers: Record<string, Answer>, options: Options): Promise<Reply>;

/** One report that a collector holds. */
export interface Told {
  collector: string;
  survey: string;
  attribute: string;
  domain: Domain;
  mechanism: string | null;
  level: string | null;
  /** A keyed hash of the true value. */
  mark: string;
  report: Sent | { seed: Label } | Record<string, number>;
  gamma: string | null;
  day: string;
}

export interface Receipt { collector: string; survey: string; plan: string; id: string; digest: string; day: string }

/** How much a collector may learn: γ (null: any), and how many reports of one answer. */
export interface Limit { gamma: Fraction | null; reports: number }

/** An answer that the person's limit does not permit; its message is a sentence in the survey's language. */
export class LimitError extends Error {}

/** What was told to whom; the same JSON as Python's ledger. */
export class Ledger {
  constructor(parts?: {
    told?: Told[];
    receipts?: Receipt[];
    limit?: Limit;
    /** Awaited before a report leaves; where it fails, nothing was told. */
    save?: (text: string) => unknown;
  });
  static loads(text: string, save?: (text: string) => unknown): Ledger;
  dumps(): string;
  readonly told: Told[];
  readonly receipts: Receipt[];
  readonly limit: Limit;
  /** γ, ε = ln γ, or a belief and what it may grow to; and how many reports of one answer a collector may hold. */
  setLimit(limit: { gamma?: number; epsilon?: number; belief?: [number, number]; reports?: number }): Promise<void>;
  reportsOf(collector: string, attribute: string): Told[];
  /** What a collector (null: all of them) was told, in the language of a survey's words. */
  total(collector: string | null, words: Record<string, string>): { gamma: Fraction | null; sentences: string[] };
}

/** Says a sentence of a survey's words with its parts filled in, and numbers and names as they stand in them. */
export interface Voice {
  (name: string, parts?: Record<string, unknown>): string;
  number(number: Fraction, up?: boolean): string;
  /** Rounded up. */
  percent(num: bigint, den: bigint): string;
  listed(names: string[]): string;
}

export function voice(words: Record<string, string>): Voice;

export interface Mechanism {
  identity: string | null;
  levels: string[];
  default: string;
  /** The answer checked; null where it is missing. */
  value(answer: unknown, rules?: { missing?: string | null; outside?: string | null }): Answer | Record<string, number>;
  /** The report that is remembered: keyed by a secret and a question, or fresh. */
  draw(
    value: unknown,
    options?: { level?: string | null; secret?: Uint8Array; question?: string },
  ): Promise<Told["report"]>;
  /** What is sent of it: the same, or a fresh blur. */
  again(report: Told["report"], options?: { level?: string | null }): Told["report"];
  /** Whether it can be sent as a report of this level. */
  carries(report: Told["report"], level?: string | null): boolean;
}

/** The mechanism of a domain and a program; `gammaOf` of check/gamma.js also refuses one that was never sound. */
export function readMechanism(domain: Domain, program: Program): Promise<Mechanism>;

export interface Model {
  /** The questions whose answers it reads. */
  reads: { name: string }[];
  classes: Label[];
}

/** A model from the JSON (text or data) that `sfumato train` wrote; one that is damaged or foreign is refused. */
export function readModel(json: unknown): Model;

/** The class of a person, from true answers that stay where they are; `rule`: the conditions that decided, if any. */
export function predict(model: Model, answers: Record<string, Answer>): {
  label: Label;
  probabilities: Record<string, number>;
  rule: string[] | null;
};
