// What a device has told whom, what that adds up to, and how much its person permits: the same JSON as Python's ledger.

import { reduced } from "./program.js";
import { canonical, refuse } from "./words.js";

const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const isCount = (count) => Number.isInteger(count) && count > 0;
export const areTexts = (...values) => values.flat().every((value) => typeof value === "string");

/** What the person's limit does not permit; nothing of the survey was answered. */
export class LimitError extends Error {}

/** A name however it is written. */
export const sameName = (name) => name.normalize("NFKC").toLowerCase().split(SPACES).filter(Boolean).join(" ");

/** γ, {num, den}, from its text; null: no bound. */
export function fraction(text) {
  if (text === null) return null;
  const sound = areTexts(text) && /^\d{1,2000}(\/0*[1-9]\d{0,2000})?$/.test(text);
  const [num, den] = sound ? [...text.split("/"), 1].map(BigInt) : [0n, 1n];
  return num < den ? refuse("A γ is damaged; load it again.") : { num, den };
}

function product(told) {
  const [gammas, all] = [told.map(({ gamma }) => fraction(gamma)), (part) => gammas.reduce((a, b) => a * b[part], 1n)];
  return gammas.includes(null) ? null : { num: all("num"), den: all("den") };
}

/** num/den rounded up, or half to even. */
function quotient(num, den, up) {
  const [floor, twice] = [num / den, 2n * (num % den)];
  return floor + BigInt(up ? twice > 0n : twice > den || (twice === den && floor % 2n === 1n));
}

/** The sentences of a survey's `words`, with numbers and lists as they stand in them. */
export function voice(words) {
  const say = (name, parts) => (words[name] ?? name).replace(/\{(\w+)\}/g, (_, part) => parts[part]);
  const marked = (text) => text.replace(/[,.]/g, (mark) => words[mark === "," ? "number.group" : "number.decimal"]);
  /** A fraction from 1 on, with four digits. */
  say.number = ({ num, den }, up) => {
    let power = `${num / den}`.length - 1;
    const scale = 10n ** BigInt(Math.abs(power - 3));
    let four = Number(power < 3 ? quotient(num * scale, den, up) : quotient(num, den * scale, up));
    if (four === 10000) [four, power] = [1000, power + 1];
    if (power >= 15) return marked(`${four / 1000}e+${power}`);
    return marked(power < 3 ? `${four / 10 ** (3 - power)}` : (four * 10 ** (power - 3)).toLocaleString("en"));
  };
  say.percent = (num, den) => marked(`${Number(quotient(1000n * num, den, true)) / 10} %`);
  say.listed = (names) => {
    const found = [...new Set(names)];
    const last = found.pop() ?? "";
    return found.length ? `${found.join(", ")} ${say("and")} ${last}` : last;
  };
  return say;
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
  const [five, fifty] = [19n, 1n].map((odds) => say.percent(num, num + odds * den));
  const kind = clear.length || loose.length ? "told.bound.more" : "told.bound";
  if (num > den) yield say(kind, { gamma: say.number({ num, den }, true), five, fifty });
  const asked = told.map((each) => canonical([each.collector, each.attribute, each.domain]));
  const changed = told.filter((each, i) => told.some(({ mark }, j) => mark !== each.mark && asked[i] === asked[j]));
  if (changed.length) yield say("told.changed", { names: names(changed) });
}

export class Ledger {
  /** `save(text)` is awaited before a report leaves. */
  constructor({ told = [], receipts = [], limit = { gamma: null, reports: 1 }, save } = {}) {
    Object.assign(this, { told, receipts, limit, save });
  }

  static loads(text, save) {
    const damaged = "The ledger is damaged; restore a copy of it.";
    try {
      const { ledger, told, limit, receipts = [] } = JSON.parse(text);
      if (ledger > 1) return refuse(`The ledger is of version ${ledger} and this device reads version 1; update the device.`);
      const texts = told.map((each) => [each.collector, each.survey, each.attribute, each.mark, each.day, each.mechanism ?? "", each.level ?? ""]);
      const others = receipts.map((each) => [each.collector, each.survey, each.plan, each.id, each.digest, each.day]);
      const open = told.every((each) => each.domain && "report" in each && fraction(each.gamma) !== 0);
      const sound = ledger === 1 && open && isCount(limit.reports) && areTexts(...texts.flat(), ...others.flat());
      const permitted = { gamma: fraction(limit.gamma), reports: limit.reports };
      return sound ? new Ledger({ told, receipts, limit: permitted, save }) : refuse(damaged);
    } catch (error) {
      return refuse(/update/.test(error.message) ? error.message : damaged);
    }
  }

  dumps() {
    const { told, receipts, limit: { gamma, reports } } = this;
    const limit = { gamma: gamma && `${gamma.num}${gamma.den > 1n ? `/${gamma.den}` : ""}`, reports };
    return `${JSON.stringify({ ledger: 1, limit, told, ...(receipts.length && { receipts }) }, null, 1)}\n`;
  }

  /** What the person permits from now on: γ, ε = ln γ, or a belief that may not grow further, [0.05, 0.5]. */
  async setLimit({ gamma, epsilon, belief, reports = 1 }) {
    const given = [gamma, epsilon, belief].filter((way) => (way ?? null) !== null).length;
    const numbers = given ? belief ?? [gamma ?? Math.exp(epsilon)] : [1];
    const [low, high] = numbers.every(Number.isFinite) ? numbers.map(decimal) : [{ num: 0n, den: 1n }];
    const { num, den } = reduced(high ? { num: high.num * (low.den - low.num), den: low.num * (high.den - high.num) } : low);
    if (given > 1 || den < 1n || num < den || !isCount(reports)) {
      refuse("The limit makes no sense; give one of γ from 1 on, ε from 0 on, or a belief and what it may grow to.");
    }
    await this.change({ limit: { gamma: given ? { num, den } : null, reports } });
  }

  /** What a collector was told of an attribute, however its name is written. */
  reportsOf(collector, attribute) {
    return this.told.filter((each) => each.collector === collector && sameName(each.attribute) === sameName(attribute));
  }

  /** What a collector (null: all of them) was told: exact γ, and sentences in a survey's `words`. */
  total(collector, words) {
    const told = this.told.filter((each) => collector === null || each.collector === collector);
    return { gamma: product(told), sentences: [...sentences(told, voice(words))] };
  }

  /** Remember reports before they leave; where one is beyond the limit, all are refused. */
  async add(told, receipts, words) {
    const after = new Ledger({ ...this, told: [...this.told], receipts: [...this.receipts, ...receipts] });
    for (const each of told) {
      if (each.report !== null) after.permit(each, voice(words));
      after.told.push(each);
    }
    if (told.length + receipts.length) await this.change(after);
  }

  permit(entry, say) {
    const { collector, attribute } = entry;
    const { gamma, reports } = this.limit;
    const stop = (kind, parts) => {
      const odds = gamma ? [say("limit.odds", { gamma: say.number(gamma) })] : [];
      const limit = say.listed([...odds, say("limit.reports", { count: reports })]);
      throw new LimitError(say(kind, { whom: collector, name: attribute, limit, ...parts }));
    };
    const count = this.reportsOf(collector, attribute).filter((each) => each.report !== null).length;
    if (count >= reports) stop("limit.again", { count });
    if (gamma === null) return;
    const total = product([...this.told.filter((each) => each.collector === collector), entry]) ?? stop("limit.unbounded");
    if (total.num * gamma.den > gamma.num * total.den) stop("limit.beyond", { gamma: say.number(total, true) });
  }

  async change({ told = this.told, receipts = this.receipts, limit = this.limit }) {
    await this.save?.(new Ledger({ told, receipts, limit }).dumps());
    Object.assign(this, { told, receipts, limit });
  }
}

/** The decimal number that is written. */
function decimal(number) {
  const [digits, power = 0] = `${number}`.split("e");
  const [whole, part = ""] = digits.split(".");
  const places = part.length - power;
  return { num: BigInt(whole + part) * 10n ** BigInt(Math.max(-places, 0)), den: 10n ** BigInt(Math.max(places, 0)) };
}
