// A device's ledger: the reports it sent to each collector, what they reveal together, and how much a person permits.

import { areTexts, attempt, checkVersion, isWhole, need, refuse } from "./checks.js";
import { decimal, fractionText, ONE, product, readGamma, reduced } from "./fractions.js";
import { canonical } from "./hashes.js";
import { voice } from "./voice.js";

/** @import { Fraction, Ledger as PublicLedger, Limit, Receipt, Told, Voice } from "./sfumato.js" */

export class LimitError extends Error {}

/**
 * Return a name as it is compared between surveys: NFKC, lower case, single spaces (those of Python).
 * @param {string} name
 */
export function sameName(name) {
  // eslint-disable-next-line no-control-regex -- to Python these are spaces
  const space = /(?!\ufeff)[\s\x1c-\x1f\x85]/;
  const words = name.normalize("NFKC").toLowerCase().split(space);
  return words.filter(Boolean).join(" ");
}

/** The product of the γ of entries. @param {Told[]} entries */
const productOf = (entries) => product(entries.map(({ gamma }) => readGamma(gamma)));

/** @implements {PublicLedger} */
export class Ledger {
  /** The end of the last work that was begun `inTurn`. @type {Promise<unknown>} */
  #turn = Promise.resolve();

  /** @param {ConstructorParameters<typeof import("./sfumato.js").Ledger>[0]} [parts] */
  constructor({ told = [], receipts = [], limit = { gamma: null, reports: 1 }, save } = {}) {
    this.told = told;
    this.receipts = receipts;
    this.limit = limit;
    this.save = save;
  }

  /**
   * Read a ledger from its JSON text; `save` is awaited whenever it changes.
   * @param {string} text
   * @param {(text: string) => unknown} [save]
   * @returns {Ledger}
   */
  static loads(text, save) {
    return attempt("ledger", () => {
      const { ledger, told, limit, receipts = [] } = JSON.parse(text);
      checkVersion(ledger, "ledger");
      need(isWhole(limit.reports, 1, Infinity), "ledger");
      need(told.every(isTold) && receipts.every(isReceipt), "ledger");
      return new Ledger({ told, receipts, limit: { gamma: readGamma(limit.gamma), reports: limit.reports }, save });
    });
  }

  /** Write the ledger as JSON text. */
  dumps() {
    const { gamma, reports } = this.limit;
    const limit = { gamma: gamma && fractionText(gamma), reports };
    const receipts = this.receipts.length ? { receipts: this.receipts } : {};
    return `${JSON.stringify({ ledger: 1, limit, told: this.told, ...receipts }, null, 1)}\n`;
  }

  /** Set how much every collector may learn from now on. @type {PublicLedger["setLimit"]} */
  async setLimit({ gamma, epsilon, belief, reports = 1 }) {
    const ways = [gamma, epsilon, belief].filter((way) => way !== undefined && way !== null);
    const bound = ways.length ? boundOf({ gamma, epsilon, belief }) : null;
    const isSound = !ways.length || (bound && bound.den > 0n && bound.num >= bound.den);
    if (ways.length > 1 || !isSound || !isWhole(reports, 1, Infinity)) {
      refuse("The limit makes no sense; give γ ≥ 1, ε ≥ 0, or a belief and what it may grow to.");
    }
    await this.change({ limit: { gamma: bound, reports } });
  }

  /** List the entries of a collector. @param {string} collector */
  toldTo(collector) {
    return this.told.filter((entry) => entry.collector === collector);
  }

  /** List the entries of a collector and an attribute. @param {string} collector @param {string} attribute */
  reportsOf(collector, attribute) {
    return this.toldTo(collector).filter((entry) => sameName(entry.attribute) === sameName(attribute));
  }

  /** Sum up a collector's entries, null: all. @param {string | null} collector @param {Record<string, string>} words */
  total(collector, words) {
    const entries = collector === null ? this.told : this.toldTo(collector);
    return { gamma: productOf(entries), sentences: sentencesOf(entries, voice(words)) };
  }

  /**
   * Remember entries and receipts: all of them or, beyond the limit, none.
   * @param {Told[]} told
   * @param {Receipt[]} receipts
   * @param {Record<string, string>} words
   */
  async add(told, receipts, words) {
    const after = new Ledger({ ...this, told: [...this.told] });
    for (const entry of told) {
      if (entry.report !== null) after.permit(entry, voice(words));
      after.told.push(entry);
    }
    if (!told.length && !receipts.length) return;
    await this.change({ told: after.told, receipts: [...this.receipts, ...receipts] });
  }

  /**
   * Refuse an entry that goes beyond the limit.
   * @param {Told} entry
   * @param {Voice} say
   */
  permit(entry, say) {
    const { collector, attribute } = entry;
    const { gamma, reports } = this.limit;
    const beyond = (/** @type {string} */ kind, /** @type {object} */ parts = {}) => {
      const odds = gamma ? [say("limit.odds", { gamma: say.number(gamma) })] : [];
      const limit = say.listed([...odds, say("limit.reports", { count: reports })]);
      return new LimitError(say(`limit.${kind}`, { whom: collector, name: attribute, limit, ...parts }));
    };
    const count = this.reportsOf(collector, attribute).filter(({ report }) => report !== null).length;
    if (count >= reports) throw beyond("again", { count });
    if (!gamma) return;
    const total = productOf([...this.toldTo(collector), entry]);
    if (!total) throw beyond("unbounded");
    if (total.num * gamma.den > gamma.num * total.den) throw beyond("beyond", { gamma: say.number(total, true) });
  }

  /**
   * Change the ledger once the change is saved; where that fails, nothing has changed.
   * @param {{ told?: Told[], receipts?: Receipt[], limit?: Limit }} changes
   */
  async change(changes) {
    await this.save?.(new Ledger({ ...this, ...changes }).dumps());
    Object.assign(this, changes);
  }

  /**
   * Do work on the ledger after all work that was begun before: two answers at once would not see each other.
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  inTurn(work) {
    const result = this.#turn.then(work, work);
    this.#turn = result;
    return result;
  }
}

/** Return whether an entry has the form of one; a γ that is none is refused. @param {any} entry */
function isTold(entry) {
  const { domain, gamma, mechanism, level, collector, survey, attribute, mark, day } = entry;
  readGamma(gamma); // refuses
  return (
    domain && "report" in entry && areTexts([mechanism ?? "", level ?? "", collector, survey, attribute, mark, day])
  );
}

/** Return whether a receipt has the form of one. @param {any} receipt */
function isReceipt({ collector, survey, plan, id, digest, day }) {
  return areTexts([collector, survey, plan, id, digest, day]);
}

/**
 * Return the γ of a limit that is given in one of three ways; null where it is no number.
 * @param {{ gamma?: number, epsilon?: number, belief?: [number, number] }} limit
 * @returns {Fraction | null}
 */
function boundOf({ gamma, epsilon, belief }) {
  const numbers = belief ?? [gamma ?? Math.exp(Number(epsilon))];
  if (!numbers.every(Number.isFinite)) return null;
  const [low, high] = numbers.map(decimal);
  if (!high) return reduced(low);
  const odds = { num: high.num * (low.den - low.num), den: low.num * (high.den - high.num) };
  return odds.den > 0n ? reduced(odds) : null;
}

/**
 * Write in sentences what entries reveal together.
 * @param {Told[]} entries
 * @param {Voice} say
 */
function sentencesOf(entries, say) {
  if (!entries.length) return [say("told.nothing")];
  const namesOf = (/** @type {Told[]} */ some) => say.listed(some.map(({ attribute }) => attribute));
  const whom = say.listed(entries.map(({ collector }) => collector));
  const answers = entries.filter(({ report }) => report !== null);
  const gaps = entries.filter(({ report }) => report === null);
  const clear = answers.filter(({ mechanism }) => mechanism === null);
  const loose = entries.filter(({ mechanism, gamma }) => mechanism !== null && gamma === null);
  const sentences = Object.entries({ answers, gaps, clear, loose })
    .filter(([, some]) => some.length)
    .map(([kind, some]) => say(`told.${kind}`, { whom, names: namesOf(some) }));

  const bounded = productOf(answers.filter(({ gamma }) => gamma !== null)) ?? ONE;
  if (bounded.num > bounded.den) {
    const { num, den } = bounded;
    const [five, fifty] = [19n, 1n].map((odds) => say.percent(num, num + odds * den));
    const kind = clear.length || loose.length ? "told.bound.more" : "told.bound";
    sentences.push(say(kind, { gamma: say.number(bounded, true), five, fifty }));
  }

  const changed = changedAnswers(entries);
  if (changed.length) sentences.push(say("told.changed", { names: namesOf(changed) }));
  return sentences;
}

/**
 * Return the entries beside which another one has another answer to the same question.
 * @param {Told[]} entries
 */
function changedAnswers(entries) {
  const questions = entries.map(({ collector, attribute, domain }) => canonical([collector, attribute, domain]));
  return entries.filter((entry, i) => {
    return entries.some((other, j) => other.mark !== entry.mark && questions[i] === questions[j]);
  });
}
