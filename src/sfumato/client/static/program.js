// The interpreter of drawing programs (docs/programs.md), and the γ that is read off them.
// Choices are computed both ways and selected by arithmetic: the time does not tell the answer. What JavaScript cannot
// promise is that the engine keeps it so, and that memory is equally fast at every place.

import { codeOf, refuse } from "./words.js";

export const WORD = 1n << 64n;
const UNIT = 2 ** 32;
const MOST_CODES = 2 ** 20;
const LARGEST = Number.MAX_SAFE_INTEGER;
const EXACT_WORK = 3e6; // multiplications up to which the γ of a chain is computed in whole numbers
const MOST_WORK = 5e8; // and up to which in doubles

export const need = (sound, what) => sound || refuse(`The program is damaged (${what}); load the survey again.`);
export const isWhole = (x, low, high) => Number.isInteger(x) && low <= x && x <= high;
export const isList = (x, size = x?.length) => Array.isArray(x) && x.length === size;
const areWhole = (list, low, high, size) => isList(list, size) && list.every((x) => isWhole(x, low, high));
export const areLabels = (list, size) =>
  isList(list, size) && list.every((x) => Object(x) !== x && x !== null) && new Set(list).size === list.length;

/** The halves of a word of sixteen hexadecimal digits. */
export function halves(text) {
  need(typeof text === "string" && /^[0-9a-f]{16}$/.test(text), "a word");
  return [parseInt(text.slice(0, 8), 16), parseInt(text.slice(8), 16)];
}

/** What a function returns, computed when first asked for. */
export function once(make) {
  let found;
  return () => (found ??= [make()])[0];
}

/** ⌊word · bound / 2^64⌋ for bounds up to 2^20: no product is rounded. */
export const below = (high, low, bound) => Math.floor((high * bound + Math.floor((low * bound) / UNIT)) / UNIT);

/** How many words lead `below` to each place. */
function wordsBelow(bound) {
  const first = (place) => (BigInt(place) * WORD + BigInt(bound - 1)) / BigInt(bound);
  return Array.from({ length: bound }, (_, place) => first(place + 1) - first(place));
}

/** 1 where word a is less than word b, else 0. */
export const less = (aHigh, aLow, bHigh, bLow) => (aHigh < bHigh) | ((aHigh === bHigh) & (aLow < bLow));

/** Alias tables one after the other, each of 2^bits entries of 64 bits: threshold · 2^bits + alias. */
function readAlias(tables) {
  const size = tables[0]?.length;
  const bits = Math.log2(size);
  need(isWhole(bits, 1, 22) && tables.every((table) => isList(table, size)), "noise");
  const entries = tables.flat().map(halves);
  const [high, low] = [0, 1].map((half) => Uint32Array.from(entries, (entry) => entry[half]));
  const aliasOf = (i) => low[i] & (size - 1);
  const upper = (i) => high[i] >>> bits; // the halves of the threshold
  const lower = (i) => ((high[i] << (32 - bits)) | (low[i] >>> bits)) >>> 0;
  return {
    draw(wordHigh, wordLow, column = 0) {
      const place = wordHigh >>> (32 - bits);
      const i = column * size + place;
      return aliasOf(i) + (place - aliasOf(i)) * less((wordHigh << bits) >>> bits, wordLow, upper(i), lower(i));
    },
    /** How many of the 2^64 words choose each code. */
    weights(column = 0) {
      const found = new Array(size).fill(0n);
      for (let i = column * size; i < (column + 1) * size; i++) {
        const own = (BigInt(upper(i)) << 32n) + BigInt(lower(i));
        found[i % size] += own;
        found[aliasOf(i)] += WORD / BigInt(size) - own;
      }
      return found;
    },
  };
}

// A step picks a number with its words (`weights`: how many words pick each) and goes to the `next` code by it.
const STEPS = {
  shift({ noise, offset }, inputs, outputs) {
    need(isWhole(offset, 0, 2 * MOST_CODES), "offset");
    const alias = readAlias([noise]);
    const weights = once(alias.weights);
    const sums = once(() => weights().reduce((found, x, i) => (found.push(found[i] + x), found), [0n]));
    const before = (k) => sums()[Math.min(Math.max(k, 0), noise.length)];
    return {
      pick: (code, high, low) => alias.draw(high, low),
      next: (code, k) => Math.min(Math.max(code + k - offset, 0), outputs - 1),
      weights,
      /** With a map after it: a sum for every run of codes that go to one. */
      through(codes) {
        const ends = codes.flatMap((next, i) => (next === codes[i + 1] ? [] : [i + 1]));
        const upTo = (end, code) => before(end === outputs ? Infinity : end && end + offset - code);
        const share = (code) => (end, i) => upTo(end, code) - upTo(ends[i - 1] ?? 0, code);
        return { weights: (code) => ends.map(share(code)), next: (code, i) => codes[ends[i] - 1] };
      },
      /** End rows are sums that fall or rise with the code; inner rows slide along the weights. */
      gamma() {
        const [low, high] = [offset - inputs + 1, offset + outputs - 1];
        if (outputs === 1) return ONE;
        const ends = [ratio(before(offset + 1), before(low + 1)), ratio(WORD - before(high - inputs + 1), WORD - before(high))];
        const inner = Array.from({ length: high - low - 1 }, (_, i) => weights()[low + 1 + i] ?? 0n);
        const least = sliding(inner, inputs, smaller);
        return largest([...ends, ...sliding(inner, inputs, larger).map((most, i) => ratio(most, least[i]))]);
      },
    };
  },

  window({ inside, window, others }, inputs) {
    const [high, low] = halves(inside);
    const near = BigInt(`0x${inside}`);
    const far = WORD / 2n - near;
    need(isWhole(window, 1, MOST_CODES) && others === inputs - 1 && far >= 0n && (others || !far), "window");
    const weights = once(() => [...wordsBelow(window).map((x) => near * x), ...wordsBelow(others).map((x) => far * x)]);
    return {
      words: 2,
      outputs: window + others,
      pick(code, high1, low1, high2, low2) {
        const hit = less(high1 >>> 1, ((high1 << 31) | (low1 >>> 1)) >>> 0, high, low);
        const missed = window + below(high2, low2, others);
        return missed + (below(high2, low2, window) - missed) * hit;
      },
      next(code, k) {
        const outside = k - window * (k - window < code);
        return outside + (code + k - outside) * (k < window);
      },
      weights,
      gamma: () => (others ? ratioIn(weights()) : ONE),
    };
  },

  table({ tables }, inputs, outputs) {
    need(isList(tables, inputs), "tables");
    const { draw, weights } = readAlias(tables);
    need(tables.every((_, code) => !weights(code).slice(outputs).some(Boolean)), "tables");
    return { pick: (code, high, low) => draw(high, low, code), weights, next: (code, k) => k };
  },

  map({ codes }, inputs, outputs) {
    need(areWhole(codes, 0, outputs - 1, inputs), "codes");
    return mapping(codes);
  },

  spread({ starts }, inputs, outputs) {
    const rising = areWhole(starts, 0, outputs - 1) && starts.every((start, i) => (i ? start > starts[i - 1] : !start));
    need(rising && starts.length && outputs === inputs, "starts");
    const sizes = starts.map((start, i) => (starts[i + 1] ?? outputs) - start);
    const runs = starts.flatMap((_, run) => new Array(sizes[run]).fill(run));
    return {
      pick: (code, high, low) => below(high, low, sizes[runs[code]]),
      weights: (code) => wordsBelow(sizes[runs[code]]),
      next: (code, k) => starts[runs[code]] + k,
      gamma: () => (starts.length > 1 ? null : ONE),
      short: { ...mapping(runs), inputs, outputs: starts.length }, // reports of a run have one ratio
    };
  },
};

function mapping(codes) {
  const gamma = () => (new Set(codes).size > 1 ? null : ONE);
  return { words: 0, pick: () => 0, weights: () => [1n], next: (code) => codes[code], gamma, codes };
}

function readStep(step, inputs) {
  need(Object.hasOwn(STEPS, step?.step), "a step");
  const { outputs } = step;
  need(step.step === "window" || isWhole(outputs, 1, MOST_CODES), "outputs");
  const found = { inputs, outputs, words: 1, ...STEPS[step.step](step, inputs, outputs) };
  need(found.outputs <= MOST_CODES, "outputs");
  return { gamma: () => gammaOfRows([found], BigInt), ...found };
}

const wordsOf = (steps) => steps.reduce((sum, step) => sum + step.words, 0);

function run(steps, code, words) {
  let at = 0;
  for (const step of steps) {
    code = step.next(code, step.pick(code, words[at], words[at + 1], words[at + 2], words[at + 3]));
    at += 2 * step.words;
  }
  return code;
}

/** How values become codes and codes values; `labels` are the domain's, undefined where it has numbers. */
function readSpace({ size, labels: own, first, stride, per, edges } = {}, labels) {
  need(isWhole(size, 1, MOST_CODES), "size");
  if (labels) {
    const names = own ?? labels;
    need(areLabels(names, size), "labels");
    const codes = new Map(names.map((label, code) => [label, code]));
    return { size, code: (label) => codes.get(label), value: (code) => names[code], holds: (x) => codes.has(x) };
  }
  const holds = Number.isFinite;
  need(isWhole(per, 1, LARGEST), "per");
  if (edges) {
    need(areWhole(edges, -LARGEST, LARGEST, size + 1), "edges");
    const code = (x) => edges.slice(1, -1).reduce((count, edge) => count + (edge / per <= x), 0);
    return { size, code, value: (place) => (edges[place] / per + edges[place + 1] / per) / 2, holds };
  }
  need(isWhole(first, -LARGEST, LARGEST) && isWhole(stride, 1, LARGEST), "first");
  const code = (x) => {
    const place = Math.min(Math.max((x * per - first) / stride, 0), size - 1);
    const rest = place % 1;
    return place - rest + ((rest > 0.5) | ((rest === 0.5) & place)); // halves to the even code
  };
  return { size, code, value: (place) => (first + stride * place) / per, holds };
}

/** A program of one value: its first `permanent` steps draw what is remembered, the others what is sent of it. */
export function readProgram({ words, read, steps, write, permanent, remembered }, labels) {
  const [entry, exit] = [readSpace(read, labels), readSpace(write, labels)];
  need(isList(steps), "steps");
  const all = [];
  const sizeAfter = (count) => all[count - 1]?.outputs ?? entry.size;
  steps.forEach((step, i) => all.push(readStep(step, sizeAfter(i))));
  const kept = permanent ?? steps.length;
  need(isWhole(kept, 0, steps.length) && words === wordsOf(all), "steps");
  const memory = permanent === undefined ? exit : readSpace(remembered, labels);
  need(memory.size === sizeAfter(kept) && exit.size === sizeAfter(steps.length), "write");
  const [first, later] = [all.slice(0, kept), all.slice(kept)];
  const { inside, ...shared } = steps[0] ?? {}; // windows share one draw at every γ
  const alone = kept === 1 && shared.step === "window";
  return {
    entry, exit,
    noise: { read, steps: alone ? [shared] : steps.slice(0, kept) },
    draw: (code, words) => run(all, code, words),
    words: () => wordsOf(first),
    code: entry.code,
    remember: (value, words) => memory.value(run(first, entry.code(value), words)),
    again: (report, fresh) => exit.value(run(later, memory.code(report), fresh(wordsOf(later)))),
    carries: memory.holds,
    gamma: once(() => reduced(gammaOf(entry.size, first))),
  };
}

/** Several numbers at once: the noise of a column lies around a mixture of those before it. */
export function readColumns({ words, columns }, names) {
  need(isList(columns, names.length) && words === 2 * names.length, "columns");
  const spaces = columns.map((column, j) => {
    need(areWhole(column?.weights, -LARGEST, LARGEST, j) && isWhole(column.offset, 0, 2 * MOST_CODES), "weights");
    return { ...column, ...readSpace(column), alias: readAlias([column.noise]) };
  });
  const codes = (row) => spaces.map((space, j) => space.code(row[names[j]]));
  function draw(codes, words) {
    const steps = [];
    spaces.forEach(({ alias, offset, weights }, j) => {
      let [sum, rest] = [alias.draw(words[4 * j], words[4 * j + 1]) - offset, words[4 * j + 2]];
      weights.forEach((weight, i) => {
        const high = Math.floor(weight / UNIT);
        rest += (weight - high * UNIT) * steps[i];
        sum += high * steps[i] + Math.floor(rest / UNIT);
        rest -= Math.floor(rest / UNIT) * UNIT;
      });
      need(isWhole(sum, -MOST_CODES, MOST_CODES), "weights"); // so that no product was rounded
      steps.push(sum);
    });
    return codes.map((code, j) => code + steps[j]);
  }
  return {
    draw,
    words: () => words,
    code: (row) => codeOf(codes(row)),
    remember: (row, words) => Object.fromEntries(draw(codes(row), words).map((x, j) => [names[j], spaces[j].value(x)])),
    again: (report) => report,
    carries: (report) => names.every((name) => Number.isFinite(report[name])),
    gamma: () => null,
  };
}

// γ: the largest ratio within a row of the law, {num, den}; null where it has no bound.

const ONE = { num: 1n, den: 1n };
const larger = (a, b) => (a > b ? a : b);
const smaller = (a, b) => (a < b ? a : b);

/** Undefined for a report that never occurs, null for one that only some values rule out. */
const ratio = (num, den) => (den ? { num, den } : num ? null : undefined);
const ratioIn = (row) => ratio(row.reduce(larger), row.reduce(smaller));

export function largest(ratios) {
  if (ratios.includes(null)) return null;
  return ratios.reduce((a, b) => (b && !(a && a.num * b.den >= b.num * a.den) ? b : a), undefined) ?? ONE;
}

/** The best of every `width` neighbours: from the best so far in blocks of that width, forwards and backwards. */
function sliding(values, width, best) {
  const [ahead, back] = [[...values], [...values]];
  for (let i = 1; i < values.length; i++) if (i % width) ahead[i] = best(ahead[i - 1], ahead[i]);
  for (let i = values.length - 1; i > 0; i--) if (i % width) back[i - 1] = best(back[i - 1], back[i]);
  return back.slice(0, values.length + 1 - width).map((x, i) => best(x, ahead[i + width - 1]));
}

/** Of one step exactly, of several exactly where that is little work; else rounded up, never above any one step's. */
function gammaOf(size, steps) {
  if (!steps.length) return size > 1 ? null : ONE;
  if (steps.length === 1 || !wordsOf(steps)) return steps[0].gamma();
  const area = ({ inputs, outputs }) => inputs * outputs;
  const sum = (some, cost) => some.reduce((total, step, i) => total + cost(step, i), 0);
  const short = [];
  for (const step of [...steps.slice(0, -1), steps.at(-1).short ?? steps.at(-1)]) {
    const before = step.codes && short.pop(); // a map joins the step before it
    const joined = { next: (code, k) => step.next(before.next(code, k)), ...before?.through?.(step.codes) };
    short.push(before ? { ...before, ...joined, outputs: step.outputs, through: undefined } : step);
  }
  const work = area(steps[0]) + sum(steps.slice(1), (step, i) => area(steps[i]) * step.outputs);
  if (work <= EXACT_WORK) return gammaOfRows(short, BigInt);
  const bounds = steps.map((step) => step.gamma()).filter(Boolean);
  const light = sum(short, (step, i) => area(step) * (i ? size : 1)) <= MOST_WORK;
  const rough = light && gammaOfRows(short, Number);
  let [number, den] = [rough ? rough.num / rough.den : Infinity, 10n ** 9n];
  for (; number % 1; number *= 2) den *= 2n;
  if (number < Infinity) bounds.push({ num: BigInt(number) * (10n ** 9n + 1n), den });
  return bounds.reduce((a, b) => (a && a.num * b.den < b.num * a.den ? a : b), null);
}

/** γ of steps one after the other, in whole numbers or in doubles. */
function gammaOfRows(steps, as) {
  const { inputs } = steps[0];
  let rows;
  for (const step of steps) {
    const after = Array.from({ length: step.outputs }, () => new Array(inputs).fill(as(0n)));
    let [weights, shares] = [];
    for (let code = 0; code < step.inputs; code++) {
      const found = step.weights(code);
      if (found !== weights) [weights, shares] = [found, found.map(as)];
      shares.forEach((share, k) => {
        const row = after[step.next(code, k)];
        if (share && rows) rows[code].forEach((x, from) => (row[from] += share * x));
        else if (share) row[code] += share;
      });
    }
    rows = after;
  }
  return largest(rows.map(ratioIn));
}

export function reduced(gamma) {
  let [a, b] = [gamma?.num, gamma?.den];
  while (b) [a, b] = [b, a % b];
  return gamma && { num: gamma.num / a, den: gamma.den / a };
}
