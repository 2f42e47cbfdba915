// One face for every mechanism: readMechanism(domain, program).

import { readBaskets } from "./baskets.js";
import { checkLabels, damaged, list, once, readColumns, readProgram, whole } from "./program.js";
import { canonical, freshWords, keyedWords, refuse, sha256 } from "./words.js";

const MOST_NESTED = 60;
const MOST_LEVELS = 32;
const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** What a person may answer. `value(answer, {missing, outside})` is the answer checked, null where it is missing. */
export function readDomain(spec) {
  if (!isTable(spec)) damaged("a question has no domain");
  const { low, high, integer = false, categories, items, columns } = spec;
  if (categories) {
    checkLabels(categories);
    const label = (answer) => (categories.includes(answer) ? answer : refuse("The answer is none of the categories; choose one."));
    return { labels: categories, value: unlessMissing(label) };
  }
  if (items) {
    const known = Array.isArray(items) ? checkLabels(items) : null;
    const codeOf = (item) => (known ? known.indexOf(item) : Number.isInteger(item) && item < items ? item : -1);
    return { items: known ?? whole(items, 1, 2 ** 22, "items"), value: unlessMissing((basket) => sorted(basket, codeOf)) };
  }
  if (columns) {
    if (!isTable(columns)) damaged("columns is no table");
    const each = Object.entries(columns).map(([name, column]) => [name, readDomain(column)]);
    const value = (answers) => {
      const row = each.map(([name, domain]) => [name, domain.value(answers?.[name])]);
      return row.some(([, number]) => number === null) ? null : Object.fromEntries(row);
    };
    return { columns: each.map(([name]) => name), value };
  }
  const sound = Number.isFinite(low) && Number.isFinite(high) && low < high && typeof integer === "boolean";
  if (!sound) damaged("a domain has no low and high");
  return { value: unlessMissing((number, rules) => inside(number, low, high, integer, rules)) };
}

function unlessMissing(check) {
  return (answer, { missing, outside } = {}) => {
    if (answer !== undefined && answer !== null && !Number.isNaN(answer)) return check(answer, { outside });
    return missing === "refuse" ? refuse("The answer is missing and the plan asks for one; give one.") : null;
  };
}

function inside(answer, low, high, integer, { outside }) {
  if (typeof answer !== "number") refuse("The answer is not a number; write digits.");
  const number = outside === "clamp" ? Math.min(Math.max(answer, low), high) : answer;
  if (number < low || number > high) refuse(`The answer is not from ${low} to ${high}; correct it.`);
  if (integer && !Number.isInteger(number)) refuse("The answer is not a whole number; round it.");
  return number + 0; // no −0
}

function sorted(basket, codeOf) {
  const items = [...list(basket, "a basket")].sort((a, b) => codeOf(a) - codeOf(b));
  if (items.some((item) => codeOf(item) < 0)) refuse("The basket has an item that is unknown; drop it.");
  if (new Set(items).size < items.length) refuse("The basket has an item twice; drop one of them.");
  return items;
}

/** The mechanism that a program describes, checked whole; a damaged or newer one is refused by one sentence. */
export async function readMechanism(spec, program) {
  checkNesting([spec, program]);
  const domain = readDomain(spec);
  checkVersion(program);
  const named = "levels" in program;
  const written = named ? program.levels : { "": program };
  const names = isTable(written) ? Object.keys(written) : [];
  const chosen = named ? program.default : "";
  if (!names.includes(chosen) || names.length > MOST_LEVELS) damaged("its levels are not sound");
  const parts = new Map(names.map((name) => [name, readPart(domain, written[name], spec)]));
  const part = (level) => parts.get(level || chosen) ?? refuse(`The level is unknown; choose ${names.join(" or ")}.`);
  return {
    identity: await sha256(canonical({ domain: spec, program })),
    levels: names,
    default: chosen,
    parts,
    value: domain.value,
    gamma: (level) => part(level).gamma(),
    carries: (report, level) => parts.has(level || chosen) && (report === null || part(level).carries(report)),
    async draw(answer, { level, secret, question, form } = {}) {
      const [value, found] = [domain.value(answer), part(level)];
      if (value === null) return null;
      const asked = { form, keyed: secret !== undefined };
      const count = found.words(value, asked);
      if (!asked.keyed) return found.remember(value, freshWords(count), asked);
      const words = await keyedWords(secret, question, await found.noiseIdentity(), await found.code(value), count);
      return found.remember(value, words, asked);
    },
    again: (report, { level } = {}) => (report === null ? null : part(level).again(report, freshWords)),
  };
}

function readPart(domain, program, spec) {
  checkVersion(program);
  const kind = program.kind === "select-a-size" ? "items" : program.columns ? "columns" : "one value";
  if ((kind === "items") !== "items" in domain || (kind === "columns") !== "columns" in domain) damaged("it does not fit its domain");
  const read = { items: readBaskets, columns: readColumns, "one value": readProgram }[kind];
  const part = read(program, domain.items ?? domain.columns ?? domain.labels);
  const noise = part.noise ?? { program };
  return { ...part, noiseIdentity: once(() => sha256(canonical({ domain: spec, ...noise }))) };
}

function checkVersion(program) {
  if (!isTable(program)) damaged("it is missing");
  const newer = Number.isInteger(program.program) && program.program > 1;
  if (newer) refuse(`The program is of version ${program.program} and this device reads version 1; update the device.`);
  if (program.program !== 1) damaged("its version is missing");
}

function checkNesting(data) {
  let level = [data];
  for (let depth = 0; level.length; depth++) {
    if (depth > MOST_NESTED) damaged("it is nested too deep");
    level = level.flatMap((each) => Object.values(each)).filter((each) => typeof each === "object" && each !== null);
  }
}
