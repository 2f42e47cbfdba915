// The steps of a drawing program (docs/programs.md). Every step computes all outcomes and chooses between them by
// arithmetic: branches would let the time of an answer tell which outcome it had.

import { isWhole, need } from "./checks.js";
import { clamped } from "./domain.js";
import { below, halves, less } from "./words.js";

/**
 * @import { Shift, Slices, Spread, Step, Table, CodeMap, Window } from "./documents.js"
 */

/**
 * A step, ready to draw: how many words it takes, and the next code by the code and the halves of those words.
 * @typedef {{ words: number, draw: (code: number, ...halves: number[]) => number }} StepReader
 */

const { floor } = Math;
const MOST_WORDS = 3; // of one step: slices draw a direction, inside or outside, and a place

/**
 * Read alias tables of 2^b entries, each threshold · 2^b + alias, for a draw from one of them: the top b bits of a word
 * choose the entry, and its own place is drawn if the other bits are below the threshold, else its alias.
 * @param {string[][]} tables
 */
export function readAlias(tables) {
  const size = tables[0].length;
  const bits = Math.log2(size);
  const entries = tables.flat().map(halves);
  const highs = Uint32Array.from(entries, ([high]) => high);
  const lows = Uint32Array.from(entries, ([, low]) => low);
  return (/** @type {number} */ table, /** @type {number} */ wordHigh, /** @type {number} */ wordLow) => {
    const place = wordHigh >>> (32 - bits);
    const entry = table * size + place;
    const alias = lows[entry] & (size - 1);
    const thresholdLow = ((highs[entry] << (32 - bits)) | (lows[entry] >>> bits)) >>> 0;
    const isOwn = less((wordHigh << bits) >>> bits, wordLow, highs[entry] >>> bits, thresholdLow);
    return alias + (place - alias) * isOwn;
  };
}

/**
 * Return the slice of a code along a direction: z·x mod q, x the digits of the code's place, z those of the direction.
 * @param {number} code
 * @param {number} direction
 * @param {Pick<Slices, "prime" | "digits" | "width">} step
 */
export function sliceOf(code, direction, { prime, digits, width }) {
  const places = prime ** digits;
  const multiples = width > 1 ? (prime - 1) / 2 : 1;
  let place = (code + ((code * code) % places) * prime) % places;
  let line = floor(direction / multiples);
  let product = 0;
  for (let i = 1; i < digits && line > 0; i++) {
    line -= 1;
    product += (line % prime) * (place % prime);
    place = floor(place / prime);
    line = floor(line / prime);
  }
  return (((product + place) % prime) * (1 + (direction % multiples))) % prime;
}

/** Return how many directions slices have. @param {Pick<Slices, "prime" | "digits" | "width">} step */
export function directionsOf({ prime, digits, width }) {
  return (prime ** digits - 1) / (width > 1 ? 2 : prime - 1);
}

/**
 * Return 1 if half of a word is below a share of 2^63, else 0.
 * @param {[high: number, low: number]} share
 * @param {number} high
 * @param {number} low
 */
function isBelow([shareHigh, shareLow], high, low) {
  return less(high >>> 1, ((high << 31) | (low >>> 1)) >>> 0, shareHigh, shareLow);
}

/** The readers of steps by kind. Without a prototype: "toString" is no kind. */
const READERS = {
  __proto__: null,

  /**
   * @param {Shift} step
   * @returns {StepReader}
   */
  shift({ noise, offset, outputs }) {
    const alias = readAlias([noise]);
    return { words: 1, draw: (code, high, low) => clamped(code + alias(0, high, low) - offset, 0, outputs - 1) };
  },

  /**
   * @param {Window} step
   * @returns {StepReader}
   */
  window({ inside, window: width, others }) {
    const share = halves(inside);
    return {
      words: 2,
      draw(code, high, low, high2, low2) {
        const isInside = isBelow(share, high, low);
        const near = code + below(high2, low2, width);
        const other = below(high2, low2, others);
        const far = other + width * Number(other >= code); // leaves the window out
        return far + (near - far) * isInside;
      },
    };
  },

  /**
   * @param {Slices} step
   * @returns {StepReader}
   */
  slices(step) {
    const { inside, prime, digits, width } = step;
    need(isWhole(digits, 1, 20));
    const share = halves(inside);
    const directions = directionsOf(step);
    return {
      words: 3,
      draw(code, high, low, high2, low2, high3, low3) {
        const direction = below(high, low, directions);
        const isInside = isBelow(share, high2, low2);
        const near = below(high3, low3, width);
        const far = width + below(high3, low3, prime - width);
        return direction * prime + ((sliceOf(code, direction, step) + far + (near - far) * isInside) % prime);
      },
    };
  },

  /**
   * @param {Table} step
   * @returns {StepReader}
   */
  table({ tables }) {
    return { words: 1, draw: readAlias(tables) };
  },

  /**
   * @param {CodeMap} step
   * @returns {StepReader}
   */
  map({ codes }) {
    const nextOf = [...codes];
    return { words: 0, draw: (code) => nextOf[code] };
  },

  /**
   * @param {Spread} step
   * @returns {StepReader}
   */
  spread({ starts, outputs }) {
    const ends = [...starts.slice(1), outputs];
    return {
      words: 1,
      draw(code, high, low) {
        const run = ends.reduce((count, end) => count + Number(end <= code), 0);
        return starts[run] + below(high, low, ends[run] - starts[run]);
      },
    };
  },
};

/**
 * Read steps that follow one another. Each uses up its words in order.
 * @param {readonly Step[]} steps
 */
export function readSteps(steps) {
  /** @type {Record<string, (step: any) => StepReader>} */
  const readers = /** @type {any} */ (READERS);
  const sequence = steps.map((step) => readers[step.step](step));
  return {
    words: sequence.reduce((sum, { words }) => sum + words, 0),
    /** @param {number} code @param {Uint32Array} noise */
    run(code, noise) {
      let next = code;
      let used = 0;
      for (const { words, draw } of sequence) {
        next = draw(next, ...noise.subarray(used, used + 2 * MOST_WORDS));
        used += 2 * words;
      }
      return next;
    },
  };
}
