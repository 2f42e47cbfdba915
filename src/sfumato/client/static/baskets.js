// The interpreter of drawing programs of baskets (docs/programs-baskets.md), as bitmaps and as seeds.
// Rows of bits are Uint32Arrays, bit i in half i >> 5. The work is the same for every basket and outcome.

import { below, damaged, halves, largest, less, list, once, reduced, whole, WORD } from "./program.js";
import { hex, refuse, sha256 } from "./words.js";

const MOST_ITEMS = 1 << 22;
const MOST_SIZE = 1000;
const MOST_WORK = 2 ** 30;
const PRIMITIVE = [
  7, 11, 19, 37, 67, 137, 285, 529, 1033, 2053, 4179, 8219, 17475, 32771, 69643, 131081, 262273, 524327, 1048585,
  2097157, 4194307,
]; // of degrees 2 to 22

/** The program of baskets; `labels` are those of the items, or how many there are. */
export function readBaskets(program, labels) {
  const items = whole(program.items, 1, MOST_ITEMS, "items");
  if (items !== (labels.length ?? labels)) damaged("it has other items than its domain");
  const codes = labels.length && new Map(labels.map((label, code) => [label, code]));
  const sizes = new Map(list(program.sizes, "sizes").map((part) => [part?.size, readSize(part, items)]));
  if (!sizes.size || sizes.size < program.sizes.length) damaged("sizes are none, or twice the same");
  const members = (basket) => basket.map((item) => (codes ? codes.get(item) : item));
  const sized = (basket) =>
    sizes.get(basket.length) ?? refuse(`A basket here has ${[...sizes.keys()].join(" or ")} items; add or drop some.`);
  const inSeeds = (size, { keyed, form }) => size.seed && (keyed || form === "seed");
  return {
    sizes,
    words: (basket, asked) => sized(basket).words[inSeeds(sized(basket), asked) ? "seed" : "bitmap"],
    code: async (basket) => {
      const bytes = new DataView(new ArrayBuffer(8 * basket.length));
      members(basket).forEach((code, i) => bytes.setUint32(8 * i, code, true));
      return BigInt(`0x${(await sha256(bytes)).slice(0, 16)}`);
    },
    /** A bitmap, or the seed where that is asked for; with a secret both are one report. */
    remember: (basket, words, asked) => {
      const [size, codes] = [sized(basket), members(basket)];
      if (!inSeeds(size, asked)) return { size: size.size, bitmap: hexOf(size.drawBitmap(codes, words)) };
      const seed = size.drawSeed(codes, words);
      if (asked.form !== "seed") return { size: size.size, bitmap: hexOf(size.expand(seed)) };
      return { size: size.size, seed: hexOf(seed).slice(0, 2 * Math.ceil(size.seed.bits / 8)) };
    },
    again: (report) => report,
    carries: (report) => sizes.has(report.size),
    gamma: once(() => reduced(largest([...sizes.values()].map(gammaOfSize)))),
  };
}

const hexOf = (bits) => hex(new Uint8Array(bits.buffer));

function readSize(part, items) {
  const size = whole(part?.size, 1, Math.min(items, MOST_SIZE), "size");
  const depth = whole(list(part.rho, "rho", 2)[1], 1, 16, "rho");
  const threshold = whole(part.rho[0], 1, 2 ** depth - 1, "rho");
  const bounds = list(part.kept, "kept", size + 1).map(halves);
  const rising = bounds.every(([high, low], i) => i === 0 || !less(high, low, ...bounds[i - 1]));
  const seed = part.seed && readSeed(part.seed, items, size, depth, threshold);
  const words = { bitmap: size + depth * Math.ceil(items / 64), seed: seed && 2 * size + Math.ceil(seed.bits / 64) };
  const told = part.words?.bitmap === words.bitmap && part.words.seed === words.seed;
  if (threshold % 2 === 0 || !rising || !told) damaged(`baskets of ${size} contradict themselves`);

  /** How many items show, size + 1 for pure noise, and the items in random order: those to show come first. */
  function choose(members, words) {
    const kept = bounds.reduce((count, bound) => count + 1 - less(words[0], words[1], ...bound), 0);
    const order = [...members];
    for (let i = 0; i < size - 1; i++) {
      const other = i + below(words[2 * i + 2], words[2 * i + 3], size - i);
      [order[i], order[other]] = [order[other], order[i]];
    }
    return [kept, order];
  }

  function drawBitmap(members, words) {
    const [kept, order] = choose(members, words);
    const bits = trimmed(words.subarray(2 * size), items);
    for (let plane = 1; plane < depth; plane++) {
      const coins = trimmed(words.subarray(2 * size + plane * bits.length), items);
      const or = -((threshold >> plane) & 1);
      for (let i = 0; i < bits.length; i++) bits[i] = ((bits[i] | coins[i]) & or) | (bits[i] & coins[i] & ~or);
    }
    order.forEach((item, i) => {
      const bit = 1 << (item & 31);
      const told = (bits[item >> 5] & ~bit) | (bit & -(i < kept));
      bits[item >> 5] = select(kept > size, bits[item >> 5], told);
    });
    return bits;
  }

  function drawSeed(members, words) {
    const [kept, order] = choose(members, words);
    const uniform = trimmed(words.subarray(4 * size), seed.bits);
    const numbers = order.map((_, i) => {
      const [high, low] = words.subarray(2 * (size + i));
      return select(i < kept, below(high, low, threshold), threshold + below(high, low, 2 ** depth - threshold));
    });
    const steered = seed.steer(uniform, order, numbers);
    return uniform.map((half, i) => select(kept > size, half, steered[i]));
  }

  function expand(drawn) {
    const bits = new Uint32Array(2 * Math.ceil(items / 64));
    for (let item = 0; item < items; item++) bits[item >> 5] |= (seed.number(drawn, item) < threshold) << (item & 31);
    return bits;
  }
  return { size, depth, threshold, bounds, seed, words, drawBitmap, drawSeed, expand };
}

const select = (condition, yes, no) => (yes & -condition) | (no & ~-condition);

/** Words as `count` bits. */
function trimmed(words, count) {
  const bits = Uint32Array.from({ length: 2 * Math.ceil(count / 64) }, (_, i) => words[i ^ 1]);
  return bits.map((half, i) => half & (count >= 32 * i + 32 ? -1 : (1 << Math.max(count - 32 * i, 0)) - 1));
}

// --- seeds ---

function readSeed({ construction, bits, degree, independence, polynomial }, items, size, depth, threshold) {
  const bch = construction === "bch";
  const elements = bch ? Math.ceil((independence * depth) / 2) : independence;
  whole(independence, size, items, "independence");
  const known = bch || construction === "polynomial";
  const wide = bch ? items * depth < 2 ** degree : items <= 2 ** degree && depth <= degree;
  if (!known || !wide || PRIMITIVE[degree - 2] !== polynomial || bits !== degree * elements) damaged("seeds do not fit");
  if (elements * (items * (bch ? depth : 1) + (bch ? size * size * depth * depth : 0)) > MOST_WORK) damaged("seeds are too large");
  const field = fieldOf(degree, polynomial);
  const coefficients = (seed) => Array.from({ length: elements }, (_, c) => bitsAt(seed, c * degree, degree));

  function valueAt(seed, item) {
    return coefficients(seed).reduceRight((value, coefficient) => field().multiply(value, item) ^ coefficient, 0);
  }

  /** The elements x^(position · (2c + 1)) that make row R(position). */
  const row = (position) => Array.from({ length: elements }, (_, c) => field().power(position * (2 * c + 1)));
  const number = bch
    ? (seed, item) => {
        const parts = coefficients(seed);
        let found = 0;
        for (let bit = 0; bit < depth; bit++) {
          const sum = row(item * depth + bit).reduce((total, element, c) => total ^ (element & parts[c]), 0);
          found = 2 * found + parity(sum);
        }
        return found;
      }
    : (seed, item) => valueAt(seed, item) & (2 ** depth - 1);
  const steer = (seed, order, numbers) => {
    const wrong = order.map((item, i) => number(seed, item) ^ numbers[i]);
    const change = bch ? solve(order, wrong) : field().interpolate(order, wrong);
    const steered = seed.slice();
    change.forEach((element, c) => addBits(steered, c * degree, element));
    return steered;
  };

  /** Elements whose rows have the wanted parities: by elimination, the lowest bit of each equation its pivot. */
  function solve(order, wrong) {
    const equations = order.flatMap((item, i) =>
      Array.from({ length: depth }, (_, bit) => [...row(item * depth + bit), (wrong[i] >> (depth - 1 - bit)) & 1]),
    );
    const pivots = equations.map((equation, i) => {
      const at = equation.findIndex((element, c) => element && c < elements);
      const pivot = equation[at] & -equation[at];
      equations.forEach((other, j) => {
        const mask = -((other[at] & pivot) !== 0 && i !== j);
        for (let c = 0; c <= elements; c++) other[c] ^= equation[c] & mask;
      });
      return [at, pivot];
    });
    const change = new Array(elements).fill(0);
    pivots.forEach(([at, pivot], i) => (change[at] |= pivot & -equations[i][elements]));
    return change;
  }
  return { bits, number, steer };
}

const parity = (x) => {
  for (const by of [16, 8, 4, 2, 1]) x ^= x >>> by;
  return x & 1;
};

/** Bits of a row as a number, and the row with a number added to them. */
function bitsAt(row, at, count) {
  const [i, shift] = [at >> 5, at & 31];
  return ((row[i] >>> shift) | ((row[i + 1] << 1) << (31 - shift))) & (2 ** count - 1);
}

function addBits(row, at, number) {
  const [i, shift] = [at >> 5, at & 31];
  row[i] ^= number << shift;
  row[i + 1] ^= (number >>> 1) >>> (31 - shift);
}

/** GF(2^degree) by tables of powers and logarithms, made when first needed. */
function fieldOf(degree, polynomial) {
  const order = 2 ** degree - 1;
  return once(() => {
    const [powers, logs] = [new Int32Array(2 * order), new Int32Array(order + 1)];
    for (let exponent = 0, element = 1; exponent < order; exponent++) {
      powers[exponent] = powers[exponent + order] = element;
      logs[element] = exponent;
      element <<= 1;
      element ^= polynomial & -(element >> degree);
    }
    const both = (a, b) => -((a !== 0) & (b !== 0));
    const multiply = (a, b) => powers[logs[a] + logs[b]] & both(a, b);
    const divide = (a, b) => powers[logs[a] + order - logs[b]] & both(a, 1);
    /** The polynomial of least degree through points (Newton). */
    const interpolate = (points, values) => {
      const newton = [...values];
      for (let r = 1; r < points.length; r++) {
        for (let i = points.length - 1; i >= r; i--) {
          newton[i] = divide(newton[i] ^ newton[i - 1], points[i] ^ points[i - r]);
        }
      }
      return newton.reduceRight(
        (found, value, i) => found.map((each, c) => multiply(each, points[i]) ^ (c ? found[c - 1] : value)),
        newton.map(() => 0),
      );
    };
    return { power: (exponent) => powers[exponent % order], multiply, interpolate };
  });
}

// --- γ ---

/** max (N + U[j]·E[j]/p0[j]) / min (N + L[j]·E[j]/p0[j]), all over common denominators. */
function gammaOfSize({ size, depth, threshold, bounds }) {
  const whole = bounds.map(([high, low]) => (BigInt(high) << 32n) | BigInt(low));
  const noise = WORD - whole.at(-1);
  const [shows, hides] = [BigInt(threshold), 2n ** BigInt(depth) - BigInt(threshold)];
  const shares = (c) => [c * (WORD / c), c * ((WORD + c - 1n) / c)]; // over 2^64
  let [choices, order] = [1n, [1n, 1n]];
  const found = whole.map((bound, j) => {
    if (j) {
      choices = (choices * BigInt(size - j + 1)) / BigInt(j);
      order = order.map((each, side) => each * shares(BigInt(size - j + 1))[side]);
    }
    const excess = bound - (whole[j - 1] ?? 0n);
    const [kept, lost] = [BigInt(j), BigInt(size - j)];
    const den = choices * shows ** kept * hides ** lost * WORD ** BigInt(size + j); // p0 and the 2^64 of all shares
    return [0, 1].map((side) => ({
      num: noise * den + ((excess * order[side] * shares(shows)[side] ** kept * shares(hides)[side] ** lost) << BigInt(depth * size)),
      den,
    }));
  });
  const [low, high] = [found.map(([each]) => each).reduce((a, b) => (a.num * b.den < b.num * a.den ? a : b)), largest(found.map(([, each]) => each))];
  return { num: high.num * low.den, den: high.den * low.num };
}
