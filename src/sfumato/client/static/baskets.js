// The interpreter of drawing programs of baskets (docs/programs-baskets.md), as bitmaps and as seeds.
// Rows of bits are Uint32Arrays, bit i in half i >> 5; the work is the same for every basket and outcome.

import { below, halves, isWhole, less, need } from "./program.js";
import { codeOf, hex, refuse } from "./words.js";

const range = (length, each) => Array.from({ length }, (_, i) => each(i));
const select = (condition, yes, no) => (yes & -condition) | (no & ~-condition);

/** The first bits of words. */
function trimmed(words, count) {
  const bits = Uint32Array.from(range(2 * Math.ceil(count / 64), (i) => words[i ^ 1]));
  bits[count >> 5] &= 2 ** (count & 31) - 1;
  return bits.fill(0, (count >> 5) + 1);
}

/** Baskets of items, or one category as a basket of one; seeds are drawn where every size has them. */
export function readBaskets({ items, sizes }, { count, place }) {
  need(items === count);
  const known = new Map(sizes.map((part) => [part.size, readSize(part, items)]));
  need(known.size && known.size === sizes.length);
  const listed = (answer) => [answer].flat();
  const sized = (basket) =>
    known.get(listed(basket).length) ?? refuse(`A basket here has ${[...known.keys()].join(" or ")} items; add or drop some.`);
  const form = sizes.every(({ seed }) => seed) ? "seed" : "bitmap";
  return {
    known,
    words: (basket) => sized(basket).words[form],
    code: (answer) => codeOf(listed(answer).map(place)),
    remember(answer, words) {
      const [{ [form]: draw, field }, basket] = [sized(answer), listed(answer)];
      const bytes = new Uint8Array(draw(basket.map(place), words).buffer);
      return { size: basket.length, [form]: hex(form === "seed" ? bytes.slice(0, Math.ceil(field.bits / 8)) : bytes) };
    },
    again: (report) => report,
    carries: (report) => known.has(report.size),
  };
}

function readSize({ size, rho, kept, words, seed: written }, items) {
  const [[threshold, depth], bounds, width] = [rho, kept.map(halves), Math.ceil(items / 64)];
  need(isWhole(size, 1, 1000) && bounds.length === size + 1 && isWhole(depth, 1, 16) && threshold < 2 ** depth);
  const field = written && readSeed(written, size, depth);
  need(words.bitmap === size + depth * width && words.seed === (field && 2 * size + Math.ceil(field.bits / 64)));

  /** How many items show (size + 1: pure noise), and all in random order: those that show come first. */
  function choose(members, words) {
    const order = [...members];
    for (let i = 0; i < size - 1; i++) {
      const other = i + below(words[2 * i + 2], words[2 * i + 3], size - i);
      [order[i], order[other]] = [order[other], order[i]];
    }
    return [bounds.reduce((count, bound) => count + 1 - less(words[0], words[1], ...bound), 0), order];
  }

  function bitmap(members, words) {
    const [shown, order] = choose(members, words);
    const plane = (d) => trimmed(words.subarray(2 * (size + d * width)), items);
    const bits = plane(0);
    for (let d = 1; d < depth; d++) {
      plane(d).forEach((coins, i) => (bits[i] = (threshold >> d) & 1 ? bits[i] | coins : bits[i] & coins));
    }
    order.forEach((item, i) => {
      const [drawn, bit] = [bits[item >> 5], 1 << (item & 31)];
      bits[item >> 5] = select(shown > size, drawn, select(i < shown, drawn | bit, drawn & ~bit));
    });
    return bits;
  }

  function seed(members, words) {
    const [shown, order] = choose(members, words);
    const uniform = field.elements(trimmed(words.subarray(4 * size), field.bits));
    const wrong = order.map((item, i) => {
      const [high, low] = words.subarray(2 * (size + i));
      const hidden = threshold + below(high, low, 2 ** depth - threshold);
      return field.number(uniform, item) ^ select(i < shown, below(high, low, threshold), hidden);
    });
    field.change(order, wrong).forEach((x, c) => (uniform[c] ^= x & -(shown <= size)));
    return field.row(uniform);
  }
  return { words, field, bitmap, seed, shows: (elements, item) => field.number(elements, item) < threshold };
}

/** A seed is a row of elements of GF(2^degree); every item has a number that is linear in their bits. */
function readSeed({ construction, bits, degree, polynomial }, size, depth) {
  const [bch, count, order] = [construction === "bch", bits / degree, 2 ** degree - 1];
  need(isWhole(degree, 2, 22) && isWhole(count, bch ? 1 : size, 2 ** 30 / (size * depth) ** 2));
  const doubled = (a) => (a << 1) ^ (polynomial & -(a >> (degree - 1)));

  function multiply(a, b) {
    let product = 0;
    for (let i = degree - 1; i >= 0; i--) product = doubled(product) ^ (a & -((b >> i) & 1));
    return product;
  }

  /** a to the power of an exponent of degree bits. */
  function power(a, exponent) {
    let found = 1;
    for (let i = degree - 1; i >= 0; i--) {
      found = multiply(found, found);
      found = select((exponent >> i) & 1, multiply(found, a), found);
    }
    return found;
  }

  /** The coefficients of the polynomial through points (Newton's differences). */
  function interpolated(points, values) {
    for (let r = 1; r < size; r++) {
      for (let i = size - 1; i >= r; i--) {
        values[i] = multiply(values[i] ^ values[i - 1], power(points[i] ^ points[i - r], order - 1));
      }
    }
    const times = (found, i) => found.map((x, c) => multiply(x, points[i]) ^ (found[c - 1] ?? values[i]));
    return values.reduceRight((found, _, i) => times(found, i), new Array(size).fill(0));
  }

  /** The elements x^(p(2c + 1)) behind each bit of an item's number. */
  const rows = (item) =>
    range(depth, (bit) => range(count, (c) => power(2, ((item * depth + bit) * (2 * c + 1)) % order)));

  /** What to add so that items' numbers change as wanted: by elimination, the lowest bit of an equation its pivot. */
  function solved(order, wanted) {
    const right = (i, bit) => (wanted[i] >> (depth - 1 - bit)) & 1;
    const equations = order.flatMap((item, i) => rows(item).map((row, bit) => [...row, right(i, bit)]));
    const pivots = equations.map((equation) => {
      const c = equation.findIndex(Boolean);
      const pivot = equation[c] & -equation[c];
      for (const other of equations) {
        const held = -(other !== equation && (other[c] & pivot) !== 0);
        equation.forEach((x, i) => (other[i] ^= x & held));
      }
      return [c, pivot];
    });
    const change = new Array(count).fill(0);
    pivots.forEach(([c, pivot], i) => (change[c] |= pivot & -equations[i][count]));
    return change;
  }

  const parity = (x) => [16, 8, 4, 2, 1].reduce((sum, by) => sum ^ (sum >> by), x) & 1;
  return {
    bits,
    elements(row) {
      const found = new Array(count).fill(0);
      for (let i = 0; i < bits; i++) found[Math.floor(i / degree)] |= ((row[i >> 5] >>> (i & 31)) & 1) << i % degree;
      return found;
    },
    row(elements) {
      const row = new Uint32Array(2 * Math.ceil(bits / 64));
      for (let i = 0; i < bits; i++) row[i >> 5] |= ((elements[Math.floor(i / degree)] >> i % degree) & 1) << (i & 31);
      return row;
    },
    number: (elements, item) =>
      bch
        ? rows(item).reduce((found, row) => 2 * found + parity(row.reduce((x, y, c) => x ^ (y & elements[c]), 0)), 0)
        : elements.reduceRight((found, element) => multiply(found, item) ^ element, 0) & (2 ** depth - 1),
    change: bch ? solved : interpolated,
  };
}
