// Runs the cases of programs.json and baskets.json; the same file in Node and in a browser. Returns what differs.

import { hashedCode, keyedWords } from "../../src/sfumato/client/static/words.js";
import { gammaOf } from "../../src/sfumato/client/static/check/gamma.js";
import { readMechanism } from "../../src/sfumato/client/static/mechanism.js";

const halvesOf = (texts) => texts.flatMap((text) => [text.slice(0, 8), text.slice(8)]);
const wordsOf = (texts) => Uint32Array.from(halvesOf(texts), (half) => `0x${half}`);
const wordsIn = (text) => wordsOf(text.match(/.{16}/g));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const digits = (byte) => byte.toString(16).padStart(2, "0");

/** A row of bits as words of sixteen digits each. */
function hexOfBits(bytes) {
  const words = Array.from({ length: Math.ceil(bytes.length / 8) }, (_, i) => bytes.slice(8 * i, 8 * i + 8));
  return words.map((word) => Array.from(word, digits).reverse().join("").padStart(16, "0")).join("");
}

/** The bitmap that a seed stands for. */
function bitmapOf({ field }, [threshold], seed, items) {
  const [elements, bits] = [field.elements(seed), new Uint8Array(8 * Math.ceil(items / 64))];
  for (let item = 0; item < items; item++) bits[item >> 3] |= (field.number(elements, item) < threshold) << (item & 7);
  return bits;
}

/** {differing: [names of cases], counted, gammas: {mechanism: {level: "num/den" or null}}} */
export async function run(programs, baskets) {
  const differing = [];
  let counted = 0;
  const check = (name, found, wanted) => {
    counted++;
    if (!same(found, wanted)) differing.push([name, found, wanted]);
  };
  const mechanisms = {};
  const gammas = {};
  for (const [name, { domain, program, identity, noise }] of Object.entries(programs.mechanisms)) {
    const found = (mechanisms[name] = await readMechanism(domain, program));
    check(`${name}: identity`, found.identity, identity);
    for (const [level, wanted] of Object.entries(noise)) {
      check(`${name}: noise`, found.parts.get(level === "null" ? "" : level).noise, wanted);
    }
    gammas[name] = Object.fromEntries(found.levels.map((level) => [level, fraction(gammaOf(program.levels?.[level] ?? program))]));
  }
  const part = (name, level) => mechanisms[name].parts.get(level ?? "");
  for (const [name, level, code, words, report] of programs.draws) {
    check(`${name}: draw`, part(name, level).draw(code, wordsOf(words)), report);
  }
  for (const [name, codes, words, reports] of programs.rows) {
    check(`${name}: row`, part(name).draw(codes, wordsOf(words)), reports);
  }
  for (const [name, level, value, code] of programs.read) {
    check(`${name}: read`, part(name, level).codes(value), code);
  }
  for (const [name, level, code, report] of programs.write) {
    check(`${name}: write`, part(name, level).exit.value(code), report);
  }
  for (const [secret, question, noise, code, words] of programs.keyed) {
    const bytes = Uint8Array.from(secret.match(/../g), (pair) => parseInt(pair, 16));
    const found = await keyedWords(bytes, `${question}\0${noise}`, code, words.length);
    check("keyed", found, wordsOf(words));
  }
  for (const [name, program] of Object.entries(baskets.programs)) {
    mechanisms[name] = await readMechanism({ items: program.items }, program);
    gammas[name] = { "": fraction(gammaOf(program)) };
  }
  for (const { program, size, form, members, words, report, shows } of baskets.cases) {
    const found = part(program).bySize.get(size);
    const drawn = found[form](members, wordsIn(words));
    check(`${program}: ${form} of ${size}`, hexOfBits(drawn), report);
    const { items, sizes } = baskets.programs[program];
    const { rho } = sizes.find((each) => each.size === size);
    if (shows) check(`${program}: shows`, hexOfBits(bitmapOf(found, rho, drawn, items)), shows);
  }
  for (const { members, code } of baskets.codes) {
    const found = await hashedCode(members);
    check("code of a basket", found.toString(16).padStart(16, "0"), code);
  }
  return { differing, counted, gammas };
}

const fraction = (gamma) => gamma && `${gamma.num}/${gamma.den}`;

if (typeof process !== "undefined") {
  const { readFile } = await import("node:fs/promises");
  const read = async (name) => JSON.parse(await readFile(new URL(name, import.meta.url), "utf-8"));
  console.log(JSON.stringify(await run(await read("programs.json"), await read("baskets.json"))));
}
