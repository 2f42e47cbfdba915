// The interpreter of drawing programs of baskets (docs/programs-baskets.md), as bitmaps and as seeds.
// Rows of bits are Uint32Arrays, bit i in half i >> 5; the work is the same for every basket and outcome.

import { below, halves, isList, isWhole, largest, less, need, once, reduced, WORD } from "./program.js";
import { codeOf, hex, refuse } from "./words.js";

const MOST_WORK = 2 ** 30;
const PRIMITIVE = [
  7, 11, 19, 37, 67, 137, 285, 529, 1033, 2053, 4179, 8219, 17475, 32771, 69643, 131081, 262273, 524327, 1048585,
  2097157, 4194307,
]; // of degrees 2 to 22

/** The program of baskets of `domain`, a list of labels or how many items there are. */
export function readBaskets({ items, sizes }, domain) {
  need(isWhole(items, 1, 2 ** 22) && items === (domain.length ?? domain) && isList(sizes), "items");
  const codes = isList(domain) && new Map(domain.map((label, code) => [label, code]));
  const known = new Map(sizes.map((part) => [part?.size, readSize(part, items)]));
  need(sizes.length && known.size === sizes.length, "sizes");
  const members = (basket) => basket.map((item) => (codes ? codes.get(item) : item));
  const sized = (basket) =>
    known.get(basket.length) ?? refuse(`A basket here has ${[...known.keys()].join(" or ")} items; add or drop some.`);
  const bySeed = (size, { keyed, form }) => size.seed && (keyed || form === "seed");
  return {
    known,
    words: (basket, asked) => sized(basket).words[bySeed(sized(basket), asked) ? "seed" : "bitmap"],
    code: (basket) => codeOf(members(basket)),
    /** A bitmap, or the seed if asked for; with a secret the bitmap is that of the seed, and both are one report. */
    remember(basket, words, asked) {
      const [found, size] = [sized(basket), basket.length];
      const drawn = found[bySeed(found, asked) ? "drawSeed" : "drawBitmap"](members(basket), words);
      if (!bySeed(found, asked)) return { size, bitmap: hexOf(drawn) };
      if (asked.form !== "seed") return { size, bitmap: hexOf(found.shown(drawn)) };
      return { size, seed: hexOf(drawn).slice(0, 2 * Math.ceil(found.seed.bits / 8)) };
    },
    again: (report) => report,
    carries: (report) => known.has(report.size),
    gamma: once(() => reduced(largest([...known.values()].map((size) => size.gamma())))),
  };
}

const hexOf = (bits) => hex(new Uint8Array(bits.buffer));
const select = (condition, yes, no) => (yes & -condition) | (no & ~-condition);

/** The first `count` bits of words. */
const trimmed = (words, count) =>
  Uint32Array.from({ length: 2 * Math.ceil(count / 64) }, (_, i) => words[i ^ 1] & (2 ** Math.min(Math.max(count - 32 * i, 0), 32) - 1));

function readSize(part, items) {
  const { size, rho, kept, words } = part ?? {};
  need(isWhole(size, 1, Math.min(items, 1000)) && isList(rho, 2) && isList(kept, size + 1), "size");
  const [threshold, depth] = rho;
  need(isWhole(depth, 1, 16) && isWhole(threshold, 1, 2 ** depth - 1) && threshold % 2, "rho");
  const bounds = kept.map(halves);
  need(bounds.every((bound, i) => !i || !less(...bound, ...bounds[i - 1])), "kept");
  const seed = part.seed && readSeed(part.seed, items, size, depth);
  const told = words?.bitmap === size + depth * Math.ceil(items / 64);
  need(told && words.seed === (seed && 2 * size + Math.ceil(seed.bits / 64)), "words");

  /** How many items show (size + 1: pure noise), and all in random order: those that show come first. */
  function choose(members, words) {
    const order = [...members];
    for (let i = 0; i < size - 1; i++) {
      const other = i + below(words[2 * i + 2], words[2 * i + 3], size - i);
      [order[i], order[other]] = [order[other], order[i]];
    }
    return [bounds.reduce((count, bound) => count + 1 - less(words[0], words[1], ...bound), 0), order];
  }

  return {
    words, seed,
    drawBitmap(members, words) {
      const [shown, order] = choose(members, words);
      const plane = (d) => trimmed(words.subarray(2 * size + 2 * d * Math.ceil(items / 64)), items);
      const bits = plane(0);
      for (let d = 1; d < depth; d++) {
        plane(d).forEach((coins, i) => (bits[i] = (threshold >> d) & 1 ? bits[i] | coins : bits[i] & coins));
      }
      order.forEach((item, i) => {
        const [drawn, bit] = [bits[item >> 5], 1 << (item & 31)];
        bits[item >> 5] = select(shown > size, drawn, select(i < shown, drawn | bit, drawn & ~bit));
      });
      return bits;
    },
    drawSeed(members, words) {
      const [shown, order] = choose(members, words);
      const uniform = seed.elements(trimmed(words.subarray(4 * size), seed.bits));
      const wrong = order.map((item, i) => {
        const [high, low] = words.subarray(2 * (size + i));
        const hidden = threshold + below(high, low, 2 ** depth - threshold);
        return seed.number(uniform, item) ^ select(i < shown, below(high, low, threshold), hidden);
      });
      return seed.packed(uniform, seed.change(order, wrong).map((x) => x & -(shown <= size)));
    },
    /** The bitmap that a seed stands for. */
    shown(drawn) {
      const [elements, bits] = [seed.elements(drawn), new Uint32Array(2 * Math.ceil(items / 64))];
      for (let i = 0; i < items; i++) bits[i >> 5] |= (seed.number(elements, i) < threshold) << (i & 31);
      return bits;
    },
    /** In whole numbers: max (N·4^64m + …) / min (N·4^64m + …) … */
    gamma() {
      const [m, a] = [BigInt(size), BigInt(threshold)];
      const whole = kept.map((bound) => BigInt(`0x${bound}`));
      const noise = (WORD - whole[size]) * WORD ** (2n * m);
      const [most, least] = [(c) => (WORD + c - 1n) / c, (c) => WORD / c].map((words) =>
        whole.map((bound, j) => {
          let chance = (bound - (whole[j - 1] ?? 0n)) << BigInt(depth * size);
          for (let i = 1n; i <= m; i++) {
            chance *= i <= j ? i * words(m - i + 1n) * words(a) : WORD * words(2n ** BigInt(depth) - a);
          }
          return noise + chance;
        }),
      );
      return { num: most.reduce((x, y) => (x > y ? x : y)), den: least.reduce((x, y) => (x < y ? x : y)) };
    },
  };
}

/** Seeds are elements of GF(2^degree), each a row of bits; items show numbers that are linear in them. */
function readSeed({ construction, bits, degree, independence, polynomial }, items, size, depth) {
  const bch = construction === "bch";
  const count = bch ? Math.ceil((independence * depth) / 2) : independence;
  const wide = bch ? items * depth < 2 ** degree : construction === "polynomial" && Math.max(items, 2 ** depth) <= 2 ** degree;
  need(wide && isWhole(independence, size, items) && PRIMITIVE[degree - 2] === polynomial, "seed");
  need(bits === degree * count && count * depth * (items + size * size * depth) < MOST_WORK, "seed");
  const doubled = (a) => (a << 1) ^ (polynomial & -(a >> (degree - 1)));
  const powers = once(() => {
    const found = new Int32Array(2 ** degree - 1).fill(1);
    return found.forEach((_, i) => i && (found[i] = doubled(found[i - 1]))) ?? found;
  });

  function multiply(a, b) {
    let product = 0;
    for (let i = degree - 1; i >= 0; i--) product = doubled(product) ^ (a & -((b >> i) & 1));
    return product;
  }

  function inverse(a) {
    let found = 1;
    for (let i = 1; i < degree; i++) found = multiply(found, (a = multiply(a, a)));
    return found;
  }

  /** The polynomial of degree below size through points (Newton's differences). */
  function interpolated(points, values) {
    const newton = [...values];
    for (let r = 1; r < size; r++) {
      for (let i = size - 1; i >= r; i--) newton[i] = multiply(newton[i] ^ newton[i - 1], inverse(points[i] ^ points[i - r]));
    }
    const times = (found, point, value) => found.map((x, c) => multiply(x, point) ^ (c ? found[c - 1] : value));
    return newton.reduceRight((found, value, i) => times(found, points[i], value), new Array(size).fill(0));
  }

  const row = (position) => Array.from({ length: count }, (_, c) => powers()[(position * (2 * c + 1)) % powers().length]);
  const rows = (item) => Array.from({ length: depth }, (_, bit) => row(item * depth + bit));

  /** Elements whose products with the rows have the wanted parities; the lowest bit of an equation is its pivot. */
  function solved(order, wanted) {
    const equations = order.flatMap((item, i) => rows(item).map((row, bit) => [...row, (wanted[i] >> (depth - 1 - bit)) & 1]));
    const change = new Array(count).fill(0);
    const pivots = equations.map((equation) => {
      const at = equation.findIndex(Boolean);
      const pivot = equation[at] & -equation[at];
      for (const other of equations) {
        const held = -(other !== equation && (other[at] & pivot) !== 0);
        equation.forEach((x, c) => (other[c] ^= x & held));
      }
      return [at, pivot];
    });
    pivots.forEach(([at, pivot], i) => (change[at] |= pivot & -equations[i][count]));
    return change;
  }

  const at = (c) => [(c * degree) >> 5, (c * degree) & 31];
  return {
    bits,
    elements: (row) =>
      Array.from({ length: count }, (_, c) => {
        const [i, shift] = at(c);
        return ((row[i] >>> shift) | ((row[i + 1] << 1) << (31 - shift))) & (2 ** degree - 1);
      }),
    packed(elements, change) {
      const row = new Uint32Array(2 * Math.ceil(bits / 64));
      elements.forEach((element, c) => {
        const [[i, shift], sum] = [at(c), element ^ change[c]];
        row[i] |= sum << shift;
        row[i + 1] |= (sum >>> 1) >>> (31 - shift);
      });
      return row;
    },
    number: (elements, item) =>
      bch
        ? rows(item).reduce((found, row) => 2 * found + parity(row.reduce((sum, x, c) => sum ^ (x & elements[c]), 0)), 0)
        : elements.reduceRight((found, element) => multiply(found, item) ^ element, 0) & (2 ** depth - 1),
    change: bch ? solved : interpolated,
  };
}

function parity(x) {
  for (const by of [16, 8, 4, 2, 1]) x ^= x >> by;
  return x & 1;
}
