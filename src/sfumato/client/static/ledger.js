// What a device has told whom, what that adds up to, and how much its person permits: the same JSON as Python's ledger.

import { reduced } from "./program.js";
import { canonical, refuse } from "./words.js";

const TOLD = ["collector", "survey", "attribute", "mark", "day"];
const RECEIPT = ["collector", "survey", "plan", "id", "digest", "day"];
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** An answer that the person's limit does not permit; nothing of the survey was answered. */
export class LimitError extends Error {}

const isText = (value) => typeof value === "string";

/** A name however it is written. */
export const sameName = (name) => name.normalize("NFKC").toLowerCase().split(SPACES).filter(Boolean).join(" ");

// --- fractions {num, den}; null is no bound ---

const times = (a, b) => a && b && reduced({ num: a.num * b.num, den: a.den * b.den });
const product = (told) => told.map((each) => fraction(each.gamma)).reduce(times, { num: 1n, den: 1n });
const isAbove = (a, b) => a.num * b.den > b.num * a.den;

/** Rounded half to even, or up. */
function quotient(num, den, up) {
  const [floor, twice] = [num / den, 2n * (num % den)];
  return floor + BigInt(up ? twice > 0n : twice > den || (twice === den && floor % 2n === 1n));
}

export function fraction(text) {
  if (text === null) return null;
  const sound = isText(text) && text.length <= 4000 && /^\d+(\/0*[1-9]\d*)?$/.test(text);
  const [num, den] = sound ? [...text.split("/"), 1].map(BigInt) : [0n, 1n];
  return num < den ? refuse("A γ is damaged; load it again.") : { num, den };
}

/** As text; one of more than 1,024 bits is rounded up to a multiple of 2^-64. */
export function gammaText(gamma) {
  if (gamma === null) return null;
  const long = gamma.num >> 1024n || gamma.den >> 1024n;
  const { num, den } = reduced(long ? { num: quotient(gamma.num << 64n, gamma.den, true), den: 1n << 64n } : gamma);
  return den === 1n ? `${num}` : `${num}/${den}`;
}

function fractionOf(number) {
  let den = 1n;
  for (; !Number.isInteger(number); number *= 2) den *= 2n;
  return reduced({ num: BigInt(number), den });
}

/** The γ by which a belief grows to another one, both as they are written. */
function oddsOf(...shares) {
  const [a, b] = shares.map((share) => [BigInt(`${share}`.slice(2)), 10n ** BigInt(`${share}`.length - 2)]);
  return reduced({ num: b[0] * (a[1] - a[0]), den: a[0] * (b[1] - b[0]) });
}

// --- sentences ---

/** The sentences of a survey's `words`, with numbers and lists as they stand in them. */
export function voice(words) {
  const say = (name, parts) => (words[name] ?? name).replace(/\{(\w+)\}/g, (_, part) => parts[part]);
  const marked = (text) => text.replace(/[,.]/g, (mark) => words[mark === "," ? "number.group" : "number.decimal"]);
  return Object.assign(say, {
    /** A fraction from 1 on, with four digits: the nearest, or rounded up. */
    number({ num, den }, up) {
      let power = String(num / den).length - 1;
      const scale = 10n ** BigInt(Math.abs(power - 3));
      let four = Number(power < 3 ? quotient(num * scale, den, up) : quotient(num, den * scale, up));
      if (four === 10000) [four, power] = [1000, power + 1];
      if (power >= 15) return marked(`${four / 1000}e+${power}`);
      return marked(power < 3 ? `${four / 10 ** (3 - power)}` : (four * 10 ** (power - 3)).toLocaleString("en"));
    },
    /** num/den as percent, rounded up. */
    percent: (num, den) => marked(`${Number(quotient(1000n * num, den, true)) / 10} %`),
    listed(names) {
      const found = [...new Set(names)];
      const last = found.pop() ?? "";
      return found.length ? `${found.join(", ")} ${say("and")} ${last}` : last;
    },
  });
}

function* sentences(told, say) {
  const names = (entries) => say.listed(entries.map((each) => each.attribute));
  const whom = say.listed(told.map((each) => each.collector));
  const answers = told.filter((each) => each.report !== null);
  const gaps = told.filter((each) => each.report === null);
  const clear = answers.filter((each) => each.mechanism === null);
  const loose = told.filter((each) => each.mechanism !== null && each.gamma === null);
  if (!told.length) yield say("told.nothing");
  for (const [kind, found] of Object.entries({ answers, gaps, clear, loose })) {
    if (found.length) yield say(`told.${kind}`, { whom, names: names(found) });
  }
  const { num, den } = product(answers.filter((each) => each.gamma !== null));
  const parts = { five: say.percent(num, num + 19n * den), fifty: say.percent(num, num + den) };
  const bound = clear.length || loose.length ? "told.bound.more" : "told.bound";
  if (num > den) yield say(bound, { gamma: say.number({ num, den }, true), ...parts });
  const asked = told.map((each) => canonical([each.collector, each.attribute, each.domain]));
  const changed = told.filter((each, i) => told.some(({ mark }, j) => mark !== each.mark && asked[i] === asked[j]));
  if (changed.length) yield say("told.changed", { names: names(changed) });
}

// --- the ledger ---

export class Ledger {
  /** `save(text)` is awaited before a report leaves. */
  constructor({ told = [], receipts = [], limit = { gamma: null, reports: 1 }, save } = {}) {
    Object.assign(this, { told, receipts, limit, save });
  }

  static loads(text, save) {
    try {
      const { ledger, told, limit, receipts = [] } = JSON.parse(text);
      if (ledger > 1) refuse(`The ledger is of version ${ledger} and this device reads version 1; update the device.`);
      const open = ({ mechanism, level }) => [mechanism, level].every((text) => text === null || isText(text));
      const sound = told.every((each) => TOLD.every((name) => isText(each[name])) && open(each) && "report" in each && each.domain);
      const receipted = receipts.every((each) => RECEIPT.every((name) => isText(each[name])));
      if (ledger !== 1 || !sound || !receipted) throw new TypeError();
      told.forEach((each) => fraction(each.gamma));
      return new Ledger({ told, receipts, limit: { gamma: fraction(limit.gamma), reports: counted(limit.reports) }, save });
    } catch (error) {
      throw /Type|Syntax/.test(error.name) ? new Error("The ledger is damaged; restore a copy of it.") : error;
    }
  }

  dumps() {
    const limit = { ...this.limit, gamma: gammaText(this.limit.gamma) };
    const receipts = this.receipts.length ? { receipts: this.receipts } : {};
    return `${JSON.stringify({ ledger: 1, limit, told: this.told, ...receipts }, null, 1)}\n`;
  }

  /** What the person permits from now on: γ, ε = ln γ, or a belief that may not grow further, [0.05, 0.5]. */
  async setLimit({ gamma = null, epsilon = null, belief = null, reports = 1 }) {
    const given = [gamma, epsilon, belief].filter((way) => way !== null);
    const number = gamma ?? (epsilon === null ? 1 : Math.exp(epsilon));
    const grows = !belief || (belief.every((share) => /^0\.\d+$/.test(share)) && belief[0] > 0 && belief[0] < belief[1]);
    if (given.length > 1 || !(number >= 1 && number < Infinity) || !grows) {
      refuse("The limit makes no sense; give one of γ from 1 on, ε from 0 on, or a belief and what it may grow to.");
    }
    const most = belief ? oddsOf(...belief) : given.length ? fractionOf(number) : null;
    await this.change({ limit: { gamma: most, reports: counted(reports) } });
  }

  /** What a collector was told of an attribute, however its name is written. */
  reportsOf(collector, attribute) {
    const name = sameName(attribute);
    return this.told.filter((each) => each.collector === collector && sameName(each.attribute) === name);
  }

  /** What a collector (null: all of them) was told: exact γ, and sentences in a survey's `words`. */
  total(collector, words) {
    const told = this.told.filter((each) => collector === null || each.collector === collector);
    return { gamma: product(told), sentences: [...sentences(told, voice(words))] };
  }

  /** Remember reports before they leave; where one is beyond the limit, all are refused. */
  async add(told, receipts, words) {
    const all = [...this.told];
    for (const each of told) {
      if (each.report !== null) this.permit(each, all, voice(words));
      all.push(each);
    }
    if (told.length + receipts.length) await this.change({ told: all, receipts: [...this.receipts, ...receipts] });
  }

  permit({ collector, attribute, gamma }, before, say) {
    const { gamma: most, reports } = this.limit;
    const stop = (kind, parts) => {
      const odds = most ? [say("limit.odds", { gamma: say.number(most) })] : [];
      const limit = say.listed([...odds, say("limit.reports", { count: reports })]);
      throw new LimitError(say(kind, { whom: collector, name: attribute, limit, ...parts }));
    };
    const held = before.filter((each) => each.collector === collector);
    const count = held.filter((each) => each.report !== null && sameName(each.attribute) === sameName(attribute)).length;
    if (count >= reports) stop("limit.again", { count });
    if (!most) return;
    const total = times(product(held), fraction(gamma)) ?? stop("limit.unbounded");
    if (isAbove(total, most)) stop("limit.beyond", { gamma: say.number(total, true) });
  }

  /** All of it or, where it cannot be saved, nothing. */
  async change(parts) {
    const { told, receipts, limit } = this;
    try {
      await Object.assign(this, parts).save?.(this.dumps());
    } catch (error) {
      Object.assign(this, { told, receipts, limit });
      throw error;
    }
  }
}

const counted = (count) => (Number.isInteger(count) && count > 0 ? count : refuse("The limit is no count of reports; give 1 or more."));
