// The law of each step. A step picks a number k (`weights`: how many words pick each) and goes to the `next` code.

import { isWhole, need } from "../checks.js";
import { clamped } from "../domain.js";
import { ONE } from "../fractions.js";
import { directionsOf, sliceOf } from "../steps.js";
import { gammaOfRows, larger, largest, ratioIn, ratioOf, smaller } from "./rows.js";

/**
 * @import { CodeMap, Shift, Slices, Spread, Step, Table, Window } from "../documents.js"
 * @import { Fraction } from "../sfumato.js"
 */

/**
 * A step as the codes it goes to, and by how many words.
 * @typedef {object} Transition
 * @property {number} inputs
 * @property {number} outputs
 * @property {(code: number) => bigint[]} weights
 * @property {(code: number, k: number) => number} next
 * @property {number[]} [codes] of a map, which picks nothing
 * @property {(codes: number[]) => Pick<Transition, "weights" | "next">} [through] the step and a map after it, as one
 */

/**
 * The law of a step, with its γ; `short` has, as its codes, the runs of reports that have one ratio.
 * @typedef {Transition & { words: number, gamma: () => Fraction | null, short?: Transition }} Law
 */

const WORD = 1n << 64n;
const MOST_CODES = 2 ** 20; // as in gamma.js

/**
 * Return the law of a step that takes so many codes.
 * @param {Step} step
 * @param {number} inputs
 * @returns {Law}
 */
export function lawOf(step, inputs) {
  switch (step.step) {
    case "shift":
      return lawOfShift(step, inputs);
    case "window":
      return lawOfWindow(step, inputs);
    case "slices":
      return lawOfSlices(step, inputs);
    case "table":
      return lawOfTable(step, inputs);
    case "map":
      return { words: 0, ...mapping(step, inputs) };
    case "spread":
      return lawOfSpread(step, inputs);
    default:
      need(false);
  }
}

/**
 * Return the law of a shift: noise is added, and sums beyond the ends are the ends.
 * @param {Shift} step
 * @param {number} inputs
 * @returns {Law}
 */
function lawOfShift({ noise, offset, outputs }, inputs) {
  need(isWhole(offset, 0, 2 ** 21));
  const weights = once(() => weightsOf(noise));
  /** The running sums: how many words pick a number below k. */
  const sums = once(() => {
    const partial = [0n];
    for (const weight of weights()) partial.push(partial[partial.length - 1] + weight);
    return partial;
  });
  const before = (/** @type {number} */ k) => sums()[clamped(k, 0, noise.length)];

  /** Sum the words of every run of codes that the map sends to one. @type {NonNullable<Transition["through"]>} */
  function through(codes) {
    const ends = codes.flatMap((next, i) => (next === codes[i + 1] ? [] : [i + 1]));
    /** @param {number} end @param {number} code */
    function upTo(end, code) {
      if (end === 0) return 0n;
      return before(end === outputs ? Infinity : end + offset - code);
    }
    return {
      weights: (code) => ends.map((end, i) => upTo(end, code) - upTo(ends[i - 1] ?? 0, code)),
      next: (_, i) => codes[ends[i] - 1],
    };
  }

  /** Compute γ: rows at both ends are sums that fall or rise with the code; those between slide along the weights. */
  function gamma() {
    if (outputs === 1) return ONE;
    const low = offset - inputs + 1;
    const high = offset + outputs - 1;
    const from = (/** @type {number} */ k) => WORD - before(k);
    const ends = [ratioOf(before(offset + 1), before(low + 1)), ratioOf(from(high - inputs + 1), from(high))];
    const inner = Array.from({ length: high - low - 1 }, (_, i) => weights()[low + 1 + i] ?? 0n);
    const least = sliding(inner, inputs, smaller);
    const most = sliding(inner, inputs, larger);
    return largest([...ends, ...most.map((weight, i) => ratioOf(weight, least[i]))]);
  }

  const next = (/** @type {number} */ code, /** @type {number} */ k) => clamped(code + k - offset, 0, outputs - 1);
  return { words: 1, inputs, outputs, weights, next, through, gamma };
}

/**
 * Return the law of a window: a code near the answer's, or one of the others.
 * @param {Window} step
 * @param {number} inputs
 * @returns {Law}
 */
function lawOfWindow({ inside, window: width, others }, inputs) {
  const [near, far] = sharesOf(inside);
  need(isWhole(width, 1, MOST_CODES) && (others || !far));
  const weights = once(() => [
    ...wordsBelow(width).map((words) => near * words),
    ...wordsBelow(others).map((words) => far * words),
  ]);
  return {
    words: 2,
    inputs,
    outputs: width + others,
    weights,
    next(code, k) {
      if (k < width) return code + k;
      return k - width < code ? k - width : k;
    },
    gamma: () => (others ? largest([ratioIn(weights())]) : ONE),
  };
}

/**
 * Return the law of slices: a random direction, and a slice near the answer's along it or one of the others.
 * @param {Slices} step
 * @param {number} inputs
 * @returns {Law}
 */
function lawOfSlices(step, inputs) {
  const { inside, prime, digits, width } = step;
  const [near, far] = sharesOf(inside);
  const places = prime ** digits;
  const outputs = prime * directionsOf(step);
  need(isPrime(prime) && isWhole(digits, 1, 20) && places >= inputs && places <= MOST_CODES);
  need(width === 1 || (isWhole(width, 1, prime / 2) && outputs <= MOST_CODES));
  const slices = once(() => [
    ...wordsBelow(width).map((words) => near * words),
    ...wordsBelow(prime - width).map((words) => far * words),
  ]);
  return {
    words: 3,
    inputs,
    outputs,
    weights: once(() => wordsBelow(directionsOf(step)).flatMap((words) => slices().map((slice) => words * slice))),
    next(code, k) {
      const direction = Math.floor(k / prime);
      return direction * prime + ((sliceOf(code, direction, step) + k) % prime);
    },
    gamma: () => (inputs > 1 ? largest([ratioIn(slices())]) : ONE), // the direction says nothing
  };
}

/**
 * Return the law of a table: every code has chances of its own.
 * @param {Table} step
 * @param {number} inputs
 * @returns {Law}
 */
function lawOfTable({ tables, outputs }, inputs) {
  /** @type {Transition} */
  const law = { inputs, outputs, weights: (code) => weightsOf(tables[code]), next: (_, k) => k };
  return { ...law, words: 1, gamma: () => gammaOfRows([law], BigInt) };
}

/**
 * Return the law of a spread: any code of the answer's run, all equally likely.
 * @param {Spread} step
 * @param {number} inputs
 * @returns {Law}
 */
function lawOfSpread({ starts, outputs }, inputs) {
  need(starts.every((start, i) => (i ? start > starts[i - 1] : start === 0)));
  const sizes = starts.map((start, i) => (starts[i + 1] ?? outputs) - start);
  const runs = starts.flatMap((_, run) => new Array(sizes[run]).fill(run));
  return {
    words: 1,
    inputs,
    outputs,
    weights: (code) => wordsBelow(sizes[runs[code]]),
    next: (code, k) => starts[runs[code]] + k,
    gamma: () => (starts.length > 1 ? null : ONE),
    short: mapping({ codes: runs, outputs: starts.length }, inputs),
  };
}

/**
 * Return the law of a map of codes, which picks nothing.
 * @param {Pick<CodeMap, "codes" | "outputs">} map
 * @param {number} inputs
 */
function mapping({ codes, outputs }, inputs) {
  return {
    inputs,
    outputs,
    codes,
    weights: () => [1n],
    next: (/** @type {number} */ code) => codes[code],
    gamma: () => (new Set(codes).size > 1 ? null : ONE),
  };
}

/**
 * Return how many of the 2^63 halves of a word lie inside, and how many outside.
 * @param {string} inside
 */
function sharesOf(inside) {
  const near = BigInt(`0x${inside}`);
  const far = WORD / 2n - near;
  need(far >= 0n);
  return [near, far];
}

/** Return whether a number is prime. @param {number} number */
function isPrime(number) {
  if (!isWhole(number, 2, MOST_CODES)) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor++) {
    if (number % divisor === 0) return false;
  }
  return true;
}

/**
 * Return a function that computes its result at the first call and keeps it.
 * @template T
 * @param {() => T} make
 * @returns {() => T}
 */
function once(make) {
  /** @type {T | undefined} */
  let made;
  return () => (made ??= make());
}

/**
 * Count how many of the 2^64 words choose each code of an alias table.
 * @param {string[]} table
 */
function weightsOf(table) {
  const size = BigInt(table.length);
  /** @type {bigint[]} */
  const weights = new Array(table.length).fill(0n);
  for (const [place, text] of table.entries()) {
    const entry = BigInt(`0x${text}`);
    const threshold = entry / size;
    weights[place] += threshold;
    weights[Number(entry % size)] += WORD / size - threshold;
  }
  return weights;
}

/**
 * Count how many words lead `below` to each number under a bound.
 * @param {number} bound
 */
function wordsBelow(bound) {
  const first = (/** @type {number} */ place) => (BigInt(place) * WORD + BigInt(bound - 1)) / BigInt(bound);
  return Array.from({ length: bound }, (_, place) => first(place + 1) - first(place));
}

/**
 * Return the best of every `width` neighbours: from the best so far in blocks of that width, forwards and backwards.
 * @param {bigint[]} values
 * @param {number} width
 * @param {(a: bigint, b: bigint) => bigint} best
 */
function sliding(values, width, best) {
  const ahead = [...values];
  const back = [...values];
  for (let i = 1; i < values.length; i++) {
    if (i % width) ahead[i] = best(ahead[i - 1], ahead[i]);
  }
  for (let i = values.length - 1; i > 0; i--) {
    if (i % width) back[i - 1] = best(back[i - 1], back[i]);
  }
  const windows = back.slice(0, Math.max(values.length + 1 - width, 0));
  return windows.map((value, i) => best(value, ahead[i + width - 1]));
}
