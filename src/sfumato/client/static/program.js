// The interpreter of drawing programs (docs/programs.md). Choices are computed both ways and selected by arithmetic, so
// that the time does not tell the answer, as far as the engine keeps it so and memory is equally fast at every place.

import { codeOf, refuse } from "./words.js";

const UNIT = 2 ** 32;
const MOST_CODES = 2 ** 20;

export const need = (sound) => sound || refuse("The program is damaged; load the survey again.");
export const isWhole = (x, low, high) => Number.isInteger(x) && low <= x && x <= high;
const areSafe = (numbers) => numbers.every(Number.isSafeInteger);

/** The halves of a word. */
export function halves(text) {
  need(typeof text === "string" && /^[0-9a-f]{16}$/.test(text));
  return [parseInt(text.slice(0, 8), 16), parseInt(text.slice(8), 16)];
}

/** ⌊word · bound / 2^64⌋ for bounds up to 2^21: no product is rounded. */
export const below = (high, low, bound) => Math.floor((high * bound + Math.floor((low * bound) / UNIT)) / UNIT);

/** 1 where word a is less than word b, else 0. */
export const less = (aHigh, aLow, bHigh, bLow) => (aHigh < bHigh) | ((aHigh === bHigh) & (aLow < bLow));

/** Draws from alias tables of 2^bits entries each, in 64 bits: threshold · 2^bits + alias. */
function readAlias(tables) {
  const size = tables[0].length;
  const bits = Math.log2(size);
  need(isWhole(bits, 1, 22) && tables.every((table) => Array.isArray(table) && table.length === size));
  const entries = tables.flat().map(halves);
  const [high, low] = [0, 1].map((half) => Uint32Array.from(entries, (entry) => entry[half]));
  return (wordHigh, wordLow, column = 0) => {
    const place = wordHigh >>> (32 - bits);
    const i = column * size + place;
    const alias = low[i] & (size - 1);
    const lower = ((high[i] << (32 - bits)) | (low[i] >>> bits)) >>> 0;
    return alias + (place - alias) * less((wordHigh << bits) >>> bits, wordLow, high[i] >>> bits, lower);
  };
}

/** draw(code, high, low, high, low) is the next code; `inputs` where they are not free. */
const STEPS = {
  shift({ noise, offset, outputs }) {
    const alias = readAlias([noise]);
    return { draw: (code, high, low) => Math.min(Math.max(code + alias(high, low) - offset, 0), outputs - 1) };
  },
  window({ inside, window, others }) {
    const share = halves(inside);
    const draw = (code, high, low, high2, low2) => {
      const hit = less(high >>> 1, ((high << 31) | (low >>> 1)) >>> 0, ...share);
      const place = below(high2, low2, others);
      const missed = place + window * (place >= code);
      return missed + (code + below(high2, low2, window) - missed) * hit;
    };
    return { words: 2, inputs: others + 1, outputs: window + others, draw };
  },
  table({ tables }) {
    const alias = readAlias(tables);
    return { inputs: tables.length, draw: (code, high, low) => alias(high, low, code) };
  },
  map: ({ codes }) => ({ words: 0, inputs: codes.length, draw: (code) => codes[code] }),
  spread({ starts, outputs }) {
    const ends = [...starts.slice(1), outputs];
    const draw = (code, high, low) => {
      const run = ends.reduce((count, end) => count + (end <= code), 0);
      return starts[run] + below(high, low, ends[run] - starts[run]);
    };
    return { inputs: outputs, draw };
  },
};

const readSteps = (steps, size) =>
  steps.map((step) => {
    need(Object.hasOwn(STEPS, step.step));
    const found = { words: 1, inputs: size, outputs: step.outputs, ...STEPS[step.step](step) };
    need(found.inputs === size && isWhole((size = found.outputs), 1, MOST_CODES));
    return found;
  });

const wordsOf = (steps) => steps.reduce((sum, step) => sum + step.words, 0);

function run(steps, code, words) {
  let at = 0;
  for (const step of steps) {
    code = step.draw(code, words[at], words[at + 1], words[at + 2], words[at + 3]);
    at += 2 * step.words;
  }
  return code;
}

/** How values become codes and codes values; `labels` are the domain's, undefined where it has numbers. */
function readSpace({ size, labels: own = [], first, stride, per, edges }, labels) {
  const names = labels && own.length ? own : labels;
  need(isWhole(size, 1, MOST_CODES) && (names ? names.length === size : areSafe([per, ...(edges ?? [first, stride])])));
  need(names || (per > 0 && (edges ? edges.length === size + 1 : stride > 0)));
  const codes = new Map(names?.map((label, code) => [label, code]));
  const nearest = (x) => {
    const place = Math.min(Math.max((x * per - first) / stride, 0), size - 1);
    const rest = place % 1;
    return place - rest + ((rest > 0.5) | ((rest === 0.5) & place)); // halves to the even code
  };
  const cell = (x) => edges.slice(1, -1).reduce((count, edge) => count + (edge / per <= x), 0);
  const number = (at) => (edges ? (edges[at] / per + edges[at + 1] / per) / 2 : (first + stride * at) / per);
  return {
    size, number,
    code: names ? (label) => codes.get(label) : edges ? cell : nearest,
    value: (code) => need(isWhole(code, 0, size - 1)) && (names ? names[code] : number(code)),
    holds: names ? (report) => codes.has(report) : Number.isFinite,
  };
}

/** A program of one value: its first `permanent` steps draw what is remembered, the others what is sent of it. */
export function readProgram({ words, read, steps, write, permanent = steps.length, remembered = write }, { labels }) {
  const [entry, memory, exit] = [read, remembered, write].map((space) => readSpace(space, labels));
  const all = readSteps(steps, entry.size);
  const sizes = [entry, ...all.map(({ outputs }) => ({ size: outputs }))];
  need(words === wordsOf(all) && memory.size === sizes[permanent].size && exit.size === sizes.at(-1).size);
  const [first, later] = [all.slice(0, permanent), all.slice(permanent)];
  const { inside, ...shared } = steps[0] ?? {}; // windows share one draw at every γ
  const alone = permanent === 1 && shared.step === "window";
  return {
    entry, exit,
    noise: { read, steps: alone ? [shared] : steps.slice(0, permanent) },
    draw: (code, words) => run(all, code, words),
    words: () => wordsOf(first),
    code: entry.code,
    remember: (value, words) => memory.value(run(first, entry.code(value), words)),
    again: (report, fresh) => exit.value(run(later, memory.code(report), fresh(wordsOf(later)))),
    carries: memory.holds,
  };
}

/** Several numbers at once: the noise of a column lies around a mixture of those before it. */
export function readColumns({ words, columns }, { names }) {
  const spaces = columns.map((column, j) => {
    need(column.weights.length === j && areSafe([...column.weights, column.offset]));
    return { ...column, ...readSpace(column), alias: readAlias([column.noise]) };
  });
  need(spaces.length === names.length && words === 2 * names.length);
  const codes = (row) => spaces.map((space, j) => space.code(row[names[j]]));
  function draw(codes, words) {
    const steps = [];
    spaces.forEach(({ alias, offset, weights }, j) => {
      let [sum, rest] = [alias(words[4 * j], words[4 * j + 1]) - offset, words[4 * j + 2]];
      weights.forEach((weight, i) => {
        const high = Math.floor(weight / UNIT);
        rest += (weight - high * UNIT) * steps[i];
        sum += high * steps[i] + Math.floor(rest / UNIT);
        rest -= Math.floor(rest / UNIT) * UNIT;
      });
      need(isWhole(sum, -MOST_CODES, MOST_CODES)); // so that no product was rounded
      steps.push(sum);
    });
    return codes.map((code, j) => code + steps[j]);
  }
  return {
    draw,
    words: () => words,
    code: (row) => codeOf(codes(row)),
    remember(row, words) {
      return Object.fromEntries(draw(codes(row), words).map((code, j) => [names[j], spaces[j].number(code)]));
    },
    again: (report) => report,
    carries: (report) => names.every((name) => Number.isFinite(report[name])),
  };
}

/** A fraction in lowest terms. */
export function reduced({ num, den }) {
  let [a, b] = [num, den];
  while (b) [a, b] = [b, a % b];
  return { num: num / a, den: den / a };
}
