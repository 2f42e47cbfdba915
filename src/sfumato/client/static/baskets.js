// Drawing programs of baskets (docs/programs-baskets.md); the same work for every basket and outcome.

import { isWhole, need, refuse } from "./checks.js";
import { hex } from "./hashes.js";
import { readSeed } from "./seeds.js";
import { below, halves, less } from "./words.js";

/**
 * @import { BasketProgram, BasketSize, Label } from "./documents.js"
 * @import { DomainReader } from "./domain.js"
 */

const MOST_ITEMS = 1000; // of one basket; by judgement, against documents that ask for work without end

/**
 * Read the program of baskets.
 * @param {BasketProgram} program
 * @param {DomainReader} domain
 */
export function readBaskets({ items, sizes }, { count, codeOf }) {
  const bySize = new Map(sizes.map((size) => [size.size, readSize(size, items)]));
  need(items === count && bySize.size === sizes.length);
  const form = sizes.every(({ seed }) => seed) ? "seed" : "bitmap";

  /** Return the program of a basket's size, or refuse the basket. @param {number[]} members */
  function sizeOf({ length }) {
    const sizes = [...bySize.keys()].join(" or ");
    return bySize.get(length) ?? refuse(`A basket here has ${sizes} items; add or drop some.`);
  }

  return {
    bySize,
    codes: (/** @type {Label | Label[]} */ answer) => [answer].flat().map((item) => Number(codeOf?.(item))),
    words: (/** @type {number[]} */ members) => Number(sizeOf(members).words[form]),
    remember(/** @type {number[]} */ members, /** @type {Uint32Array} */ words) {
      return { size: members.length, [form]: hex(sizeOf(members)[form](members, words)) };
    },
    carries: (/** @type {{ size: number }} */ report) => bySize.has(report.size),
  };
}

/**
 * Read the program of baskets of one size.
 * @param {BasketSize} part
 * @param {number} items
 */
function readSize({ size, rho: [threshold, depth], kept, seed: seedForm }, items) {
  need(isWhole(size, 0, MOST_ITEMS) && kept.length === size + 1);
  need(isWhole(depth, 1, 16) && threshold < 2 ** depth);
  const bounds = kept.map(halves);
  const planeWords = Math.ceil(items / 64);
  const field = seedForm && readSeed(seedForm, size, depth);
  const words = {
    bitmap: size + depth * planeWords,
    seed: field && 2 * size + Math.ceil(field.bits / 64),
  };

  /**
   * Draw how many members show (size + 1: the report is pure noise), and an order of all in which those come first.
   * @param {number[]} members
   * @param {Uint32Array} words
   */
  function choose(members, words) {
    const shown = bounds.reduce((count, [high, low]) => count + 1 - less(words[0], words[1], high, low), 0);
    const order = [...members];
    for (let i = 0; i < size - 1; i++) {
      const other = i + below(words[2 * i + 2], words[2 * i + 3], size - i);
      const item = order[other];
      order[other] = order[i];
      order[i] = item;
    }
    return { shown, order };
  }

  /** Draw a report as a bitmap of all items. @param {number[]} members @param {Uint32Array} words */
  function bitmap(members, words) {
    const { shown, order } = choose(members, words);
    const plane = (/** @type {number} */ d) => bitsOf(words.subarray(2 * (size + d * planeWords)), items);
    const bits = plane(0);
    for (let d = 1; d < depth; d++) {
      const isOr = (threshold >> d) & 1; // public: of the program
      plane(d).forEach((coins, i) => {
        bits[i] = isOr ? bits[i] | coins : bits[i] & coins;
      });
    }
    order.forEach((item, i) => {
      const drawn = bits[item >> 3];
      const bit = 1 << (item & 7);
      const wanted = select(i < shown, drawn | bit, drawn & ~bit);
      bits[item >> 3] = select(shown > size, drawn, wanted);
    });
    return bits;
  }

  /** Draw a report as a seed. @param {number[]} members @param {Uint32Array} words */
  function seed(members, words) {
    need(field);
    const { shown, order } = choose(members, words);
    const elements = field.elements(bitsOf(words.subarray(4 * size), field.bits));
    const corrections = order.map((item, i) => {
      const [high, low] = words.subarray(2 * (size + i));
      const showing = below(high, low, threshold);
      const hidden = threshold + below(high, low, 2 ** depth - threshold);
      return field.number(elements, item) ^ select(i < shown, showing, hidden);
    });
    const isSignal = Number(shown <= size);
    const changes = field.change(order, corrections);
    return field.row(elements.map((element, c) => element ^ ((changes[c] ?? 0) & -isSignal)));
  }

  return { words, field, bitmap, seed };
}

/**
 * Return one of two numbers, without a branch.
 * @param {boolean} condition
 * @param {number} yes
 * @param {number} no
 */
export function select(condition, yes, no) {
  const mask = -Number(condition);
  return (yes & mask) | (no & ~mask);
}

/**
 * Return the first bits of words, least significant first, as bytes; the bits past the end are 0.
 * @param {Uint32Array} words
 * @param {number} bits
 */
function bitsOf(words, bits) {
  const lowFirst = Uint32Array.from({ length: 2 * Math.ceil(bits / 64) }, (_, i) => words[i ^ 1]);
  const bytes = new Uint8Array(lowFirst.buffer);
  bytes[bits >> 3] &= 2 ** (bits & 7) - 1;
  return bytes.fill(0, (bits >> 3) + 1);
}
