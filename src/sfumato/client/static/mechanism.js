// One face for every mechanism.

import { readBaskets } from "./baskets.js";
import { areLabels, isList, isWhole, need, once, readColumns, readProgram } from "./program.js";
import { canonical, freshWords, keyedWords, refuse, sha256 } from "./words.js";

const isTable = (x) => Object(x) === x && !Array.isArray(x);

/** A domain; its `value(answer, {missing, outside})` is the answer checked, null where it is missing. */
export function readDomain(spec) {
  need(isTable(spec), "domain");
  const { low, high, integer = false, categories, items, columns } = spec;
  if (categories) {
    need(areLabels(categories), "categories");
    const known = new Set(categories);
    return { values: categories, value: given((x) => (known.has(x) ? x : refuse("The answer is no category; choose one."))) };
  }
  if (items) {
    need(isList(items) ? areLabels(items) : isWhole(items, 1, 2 ** 22), "items");
    const places = isList(items) && new Map(items.map((item, place) => [item, place]));
    const place = (item) => (places ? places.get(item) : isWhole(item, 0, items - 1) ? item : undefined);
    return { kind: "items", values: items, value: given((basket) => sorted(basket, place)) };
  }
  if (columns) {
    need(isTable(columns) && Object.values(columns).every((column) => isTable(column) && "low" in column), "columns");
    const parts = Object.entries(columns).map(([name, column]) => [name, readDomain(column)]);
    const value = given((row) => {
      const found = parts.map(([name, part]) => [name, part.value(row[name])]);
      return found.some(([, x]) => x === null) ? null : Object.fromEntries(found);
    });
    return { kind: "columns", values: parts.map(([name]) => name), value };
  }
  need(Number.isFinite(low) && Number.isFinite(high) && low < high && typeof integer === "boolean", "low and high");
  const value = given((x, outside) => {
    const number = outside === "clamp" ? Math.min(Math.max(x, low), high) : x;
    if (typeof x !== "number" || number < low || number > high) refuse(`The answer is no number from ${low} to ${high}; correct it.`);
    return integer && number % 1 ? refuse("The answer is not a whole number; round it.") : number + 0;
  });
  return { value };
}

const given = (check) => (answer, { missing, outside } = {}) => {
  if ((answer ?? NaN) === answer) return check(answer, outside);
  return missing === "refuse" ? refuse("The answer is missing and the plan asks for one; give one.") : null;
};

function sorted(basket, place) {
  const known = isList(basket) && basket.every((item) => place(item) !== undefined);
  if (!known || new Set(basket).size < basket.length) refuse("The basket is no list of different known items; correct it.");
  return [...basket].sort((a, b) => place(a) - place(b));
}

/** The mechanism of a program over a domain; one sentence where it is damaged or of a newer version. */
export async function readMechanism(spec, program) {
  try {
    return await read(spec, program);
  } catch (error) {
    need(error.constructor === Error, "its form"); // a part is not what it is read as
    throw error;
  }
}

async function read(spec, program) {
  let depth = 0;
  for (let level = [[spec, program]]; level.length; level = level.flatMap(Object.values).filter((x) => Object(x) === x)) need(depth++ < 60, "depth");
  const domain = readDomain(spec);
  checkVersion(program);
  const written = program.levels ?? { "": program };
  need(isTable(written), "levels");
  const [names, usual] = [Object.keys(written), program.levels ? program.default : ""];
  need(names.includes(usual) && names.length <= 32, "levels");
  const parts = new Map(names.map((name) => [name, readPart(spec, domain, written[name])]));
  const at = (level) => parts.get(level ?? usual) ?? refuse(`The level is unknown; choose ${names.join(" or ")}.`);
  return {
    parts,
    identity: await sha256(canonical({ domain: spec, program })),
    levels: names,
    default: usual,
    value: domain.value,
    gamma: (level) => at(level).gamma(),
    carries: (report, level) => parts.has(level ?? usual) && (report === null || at(level).carries(report)),
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

function readPart(spec, { kind, values }, program) {
  checkVersion(program);
  need(kind === (program.kind === "select-a-size" ? "items" : program.columns && "columns"), "domain");
  const part = (kind ? { items: readBaskets, columns: readColumns }[kind] : readProgram)(program, values);
  const noise = part.noise ?? { program };
  return { ...part, noiseIdentity: once(() => sha256(canonical({ domain: spec, ...noise }))) };
}

function checkVersion(program) {
  const version = program?.program;
  if (isWhole(version, 2, Infinity)) refuse(`The program is of version ${version}, and this device reads version 1; update it.`);
  need(isTable(program) && version === 1, "version");
}
