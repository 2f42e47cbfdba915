// γ of a basket's report (docs/programs-baskets.md), and the checks of its program.

import { isWhole, need } from "../checks.js";
import { larger, largest, smaller } from "./rows.js";

/** @import { BasketProgram, BasketSize, SeedForm } from "../documents.js" */

const WORD = 1n << 64n;
const PRIMITIVE = [
  7, 11, 19, 37, 67, 137, 285, 529, 1033, 2053, 4179, 8219, 17475, 32771, 69643, 131081, 262273, 524327, 1048585,
  2097157, 4194307,
]; // polynomials of degrees 2 to 22

/** Compute γ of baskets, the largest of all sizes. @param {BasketProgram} program */
export function gammaOfBasket({ sizes, items }) {
  return largest(sizes.map((size) => gammaOfSize(size, items)));
}

/**
 * Compute γ of one size: max_j (N + U[j]·E[j]/p0[j]) / min_j (N + L[j]·E[j]/p0[j]), both times 2^(128m). Much of U, L
 * and p0 cancels: of p0 is left 1/(j!·2^(bm)), of U and L how many words lead `below` to a number.
 * @param {BasketSize} part
 * @param {number} items
 */
function gammaOfSize({ size, rho, kept, words, seed }, items) {
  const [threshold, depth] = rho;
  const m = BigInt(size);
  const a = BigInt(threshold);
  const b = BigInt(depth);
  const bounds = kept.map((text) => BigInt(`0x${text}`));
  need(rho.length === 2 && bounds.every((bound, j) => bound >= (bounds[j - 1] ?? 0n)));
  need(a % 2n && a < 1n << b);
  if (seed) checkSeed(seed, size, depth, items);
  need(words.bitmap === size + depth * Math.ceil(items / 64));
  need(words.seed === (seed && 2 * size + Math.ceil(seed.bits / 64)));

  const noise = (WORD - bounds[size]) * WORD ** (2n * m);
  /**
   * Return, for every number of kept items, the chance by how many words lead `below` to a number.
   * @param {(bound: bigint) => bigint} wordsBelow
   */
  function chances(wordsBelow) {
    return bounds.map((bound, j) => {
      let chance = (bound - (bounds[j - 1] ?? 0n)) << (b * m);
      for (let i = 1n; i <= m; i++) {
        const shown = i * wordsBelow(m - i + 1n) * wordsBelow(a);
        chance *= i <= j ? shown : WORD * wordsBelow((1n << b) - a);
      }
      return noise + chance;
    });
  }
  const most = chances((bound) => (WORD + bound - 1n) / bound);
  const least = chances((bound) => WORD / bound);
  return { num: most.reduce(larger), den: least.reduce(smaller) };
}

/**
 * Refuse unless the numbers of any `independence` items are independent.
 * @param {SeedForm} form
 * @param {number} size
 * @param {number} depth
 * @param {number} items
 */
function checkSeed({ construction, bits, degree, independence, polynomial }, size, depth, items) {
  const isBch = construction === "bch";
  const elements = isBch ? Math.ceil((independence * depth) / 2) : independence;
  const leastOrder = isBch ? items * depth + 1 : Math.max(items, 2 ** depth);
  need(isBch || construction === "polynomial");
  need(PRIMITIVE[degree - 2] === polynomial && leastOrder <= 2 ** degree);
  need(isWhole(independence, size, items) && bits === degree * elements);
}
