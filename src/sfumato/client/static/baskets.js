// The interpreter of drawing programs of baskets (docs/programs-baskets.md), as bitmaps and as seeds.
// Rows of bits are Uint32Arrays, bit i in half i >> 5; the work is the same for every basket and outcome.

import { below, halves, isList, isWhole, largest, less, need, once, reduced, WORD } from "./program.js";
import { codeOf, hex, refuse } from "./words.js";

const MOST_WORK = 2 ** 30;
const PRIMITIVE = [
  7, 11, 19, 37, 67, 137, 285, 529, 1033, 2053, 4179, 8219, 17475, 32771, 69643, 131081, 262273, 524327, 1048585,
  2097157, 4194307,
]; // of degrees 2 to 22

/** The program of baskets over `labels`, a list or how many there are; seeds are drawn where every size has them. */
export function readBaskets({ items, sizes }, labels) {
  need(isWhole(items, 1, 2 ** 22) && items === (labels.length ?? labels) && isList(sizes) && sizes.length, "items");
  const known = new Map(sizes.map((part) => [part?.size, readSize(part, items)]));
  need(known.size === sizes.length, "sizes");
  const codes = labels.length && new Map(labels.map((label, code) => [label, code]));
  const members = (basket) => basket.map((item) => (codes ? codes.get(item) : item));
  const sized = (basket) =>
    known.get(basket.length) ?? refuse(`A basket here has ${[...known.keys()].join(" or ")} items; add or drop some.`);
  const form = sizes.every(({ seed }) => seed) ? "seed" : "bitmap";
  return {
    known,
    words: (basket) => sized(basket).words[form],
    code: (basket) => codeOf(members(basket)),
    remember(basket, words) {
      const size = sized(basket);
      const bytes = new Uint8Array(size[form](members(basket), words).buffer);
      return { size: basket.length, [form]: hex(bytes.subarray(0, form === "seed" ? Math.ceil(size.field.bits / 8) : undefined)) };
    },
    again: (report) => report,
    carries: (report) => known.has(report.size),
    gamma: once(() => reduced(largest([...known.values()].map((size) => size.gamma())))),
  };
}

const select = (condition, yes, no) => (yes & -condition) | (no & ~-condition);
const bitAt = (row, i) => (row[i >> 5] >>> (i & 31)) & 1;

/** The first bits of words. */
function trimmed(words, count) {
  const bits = Uint32Array.from({ length: 2 * Math.ceil(count / 64) }, (_, i) => words[i ^ 1]);
  bits[count >> 5] &= 2 ** (count & 31) - 1;
  return bits.fill(0, (count >> 5) + 1);
}

function readSize(part, items) {
  const { size, rho, kept, words } = part ?? {};
  need(isWhole(size, 1, Math.min(items, 1000)) && isList(rho, 2) && isList(kept, size + 1), "size");
  const [threshold, depth] = rho;
  need(isWhole(depth, 1, 16) && isWhole(threshold, 1, 2 ** depth - 1) && threshold % 2, "rho");
  const bounds = kept.map(halves);
  need(bounds.every((bound, i) => !i || !less(...bound, ...bounds[i - 1])), "kept");
  const field = part.seed && readSeed(part.seed, items, size, depth);
  const width = Math.ceil(items / 64);
  need(words?.bitmap === size + depth * width && words.seed === (field && 2 * size + Math.ceil(field.bits / 64)), "words");

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

  /** In whole numbers: the number of words for each j items that show, times j!·2^(64·2m) and so on for all alike. */
  function gamma() {
    const [m, a] = [BigInt(size), BigInt(threshold)];
    const bound = kept.map((text) => BigInt(`0x${text}`));
    const noise = (WORD - bound[size]) * WORD ** (2n * m);
    const [most, least] = [(c) => (WORD + c - 1n) / c, (c) => WORD / c].map((words) =>
      bound.map((end, j) => {
        let chance = (end - (bound[j - 1] ?? 0n)) << BigInt(depth * size);
        for (let i = 1n; i <= m; i++) {
          chance *= i <= j ? i * words(m - i + 1n) * words(a) : WORD * words(2n ** BigInt(depth) - a);
        }
        return noise + chance;
      }),
    );
    return { num: most.reduce((x, y) => (x > y ? x : y)), den: least.reduce((x, y) => (x < y ? x : y)) };
  }
  return { words, field, bitmap, seed, gamma, shows: (elements, item) => field.number(elements, item) < threshold };
}

/** A seed is a row of elements of GF(2^degree); every item has a number that is linear in their bits. */
function readSeed({ construction, bits, degree, independence, polynomial }, items, size, depth) {
  const bch = construction === "bch";
  const count = bch ? Math.ceil((independence * depth) / 2) : independence;
  const least = bch ? items * depth + 1 : Math.max(items, 2 ** depth);
  need(/^(bch|polynomial)$/.test(construction) && PRIMITIVE[degree - 2] === polynomial && least <= 2 ** degree, "seed");
  need(isWhole(independence, size, items) && bits === degree * count, "seed");
  need(count * depth * (bch ? items + size * size * depth : items * degree) < MOST_WORK, "seed");
  const doubled = (a) => (a << 1) ^ (polynomial & -(a >> (degree - 1)));
  const powers = once(() => {
    const found = [1];
    while (found.length < 2 ** degree - 1) found.push(doubled(found.at(-1)));
    return found;
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

  /** The coefficients of the polynomial through points (Newton's differences). */
  function interpolated(points, values) {
    for (let r = 1; r < size; r++) {
      for (let i = size - 1; i >= r; i--) values[i] = multiply(values[i] ^ values[i - 1], inverse(points[i] ^ points[i - r]));
    }
    const times = (found, i) => found.map((x, c) => multiply(x, points[i]) ^ (found[c - 1] ?? values[i]));
    return values.reduceRight((found, _, i) => times(found, i), new Array(size).fill(0));
  }

  /** The elements x^(p(2c + 1)) behind each bit of an item's number. */
  const rows = (item) =>
    Array.from({ length: depth }, (_, bit) =>
      Array.from({ length: count }, (_, c) => powers()[((item * depth + bit) * (2 * c + 1)) % powers().length]),
    );

  /** What to add so that items' numbers change as wanted: by elimination, the lowest bit of an equation its pivot. */
  function solved(order, wanted) {
    const equations = order.flatMap((item, i) => rows(item).map((row, bit) => [...row, (wanted[i] >> (depth - 1 - bit)) & 1]));
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

  return {
    bits,
    elements: (row) =>
      Array.from({ length: count }, (_, c) => {
        let element = 0;
        for (let s = degree - 1; s >= 0; s--) element = 2 * element + bitAt(row, c * degree + s);
        return element;
      }),
    row(elements) {
      const row = new Uint32Array(2 * Math.ceil(bits / 64));
      for (let i = 0; i < bits; i++) row[i >> 5] |= ((elements[Math.floor(i / degree)] >> i % degree) & 1) << (i & 31);
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
