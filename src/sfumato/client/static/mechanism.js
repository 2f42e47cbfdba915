// One face for every mechanism, and for the domains that people answer in.

import { readBaskets } from "./baskets.js";
import { isWhole, need, readColumns, readProgram } from "./program.js";
import { canonical, freshWords, keyedWords, refuse, sha256 } from "./words.js";

/** A domain; its `value(answer, {missing, outside})` is the answer checked, null where it is missing. */
export function readDomain({ low, high, integer, categories, items, columns }) {
  if (categories) {
    const codes = new Map(categories.map((label, code) => [label, code]));
    const value = (x) => (codes.has(x) ? x : refuse("The answer is none of the categories; choose one."));
    return { labels: categories, count: codes.size, place: (x) => codes.get(x), value: unlessMissing(value) };
  }
  if (items) {
    const codes = Array.isArray(items) && new Map(items.map((label, code) => [label, code]));
    const count = codes ? items.length : items;
    need(isWhole(count, 1, 2 ** 22));
    const place = (item) => (codes ? codes.get(item) : isWhole(item, 0, items - 1) ? item : undefined);
    const value = (basket) => {
      const known = Array.isArray(basket) && basket.every((item) => place(item) !== undefined);
      if (!known || new Set(basket).size < basket.length) refuse("The basket is no list of different items; mend it.");
      return [...basket].sort((a, b) => place(a) - place(b));
    };
    return { kind: "items", count, place, value: unlessMissing(value) };
  }
  if (columns) {
    const parts = Object.entries(columns).map(([name, column]) => [name, readDomain(column)]);
    const value = (row) => {
      const found = parts.map(([name, part]) => [name, part.value(row[name])]);
      return found.some(([, x]) => x === null) ? null : Object.fromEntries(found);
    };
    return { kind: "columns", names: Object.keys(columns), value: unlessMissing(value) };
  }
  need(Number.isFinite(low) && Number.isFinite(high) && low < high);
  const value = (answer, outside) => {
    const x = outside === "clamp" ? Math.min(Math.max(answer, low), high) : answer;
    const kind = integer ? "whole number" : "number";
    const sound = typeof answer === "number" && low <= x && x <= high && !(integer && x % 1);
    return sound ? x + 0 : refuse(`The answer is no ${kind} from ${low} to ${high}; correct it.`);
  };
  return { value: unlessMissing(value) };
}

const unlessMissing = (check) => (answer, { missing, outside } = {}) => {
  if ((answer ?? NaN) === answer) return check(answer, outside);
  return missing === "refuse" ? refuse("The answer is missing and the plan asks for one; give one.") : null;
};

/** The mechanism of a program over a domain; one sentence where it is damaged or of a newer version. */
export const readMechanism = (spec, program) =>
  read(spec, program).catch((error) => {
    need(error.constructor === Error); // a part is not what it is read as
    throw error;
  });

async function read(spec, program) {
  const domain = readDomain(spec);
  checkVersion(program);
  const [written, usual] = program.levels ? [program.levels, program.default] : [{ "": program }, ""];
  const names = Object.keys(written);
  need(names.includes(usual));
  const parts = new Map(names.map((name) => [name, readPart(spec, domain, written[name])]));
  const at = (name) => parts.get(name ?? usual) ?? refuse(`The level is unknown; choose ${names.join(" or ")}.`);
  return {
    parts,
    identity: await sha256(canonical({ domain: spec, program })),
    levels: names,
    default: usual,
    value: domain.value,
    carries: (report, name) => parts.has(name ?? usual) && (report === null || at(name).carries(report)),
    again: (report, { level } = {}) => (report === null ? null : at(level).again(report, freshWords)),
    async draw(answer, { level, secret, question } = {}) {
      const [value, part] = [domain.value(answer), at(level)];
      if (value === null) return null;
      const count = part.words(value);
      if (secret === undefined) return part.remember(value, freshWords(count));
      const noise = await part.noiseIdentity();
      return part.remember(value, await keyedWords(secret, question, noise, await part.code(value), count));
    },
  };
}

function readPart(spec, domain, program) {
  checkVersion(program);
  const kind = program.kind === "select-a-size" ? "items" : program.columns && "columns";
  need(domain.kind === kind || (domain.labels && kind === "items")); // a subset of categories is a basket of one
  const part = ({ items: readBaskets, columns: readColumns }[kind] ?? readProgram)(program, domain);
  const noise = part.noise ?? { program };
  let identity;
  return {
    ...part,
    noiseIdentity: () => (identity ??= sha256(canonical({ domain: spec, ...noise }))),
  };
}

function checkVersion(program) {
  const version = program?.program;
  if (version > 1) refuse(`The program is of version ${version} and this device reads version 1; update the device.`);
  need(version === 1);
}
