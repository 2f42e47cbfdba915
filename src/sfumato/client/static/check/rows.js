// Ratios within rows of a law. A row has, of one report, how many words give it, by the code that came in.

import { need } from "../checks.js";
import { ONE } from "../fractions.js";

/**
 * @import { Fraction } from "../sfumato.js"
 * @import { Transition } from "./laws.js"
 */

/**
 * The ratio of a row: null without bound, undefined where its report never occurs.
 * @typedef {Fraction | null | undefined} Ratio
 */

/** The larger of two numbers. @type {(a: bigint, b: bigint) => bigint} */
export const larger = (a, b) => (a > b ? a : b);
/** The smaller of two numbers. @type {(a: bigint, b: bigint) => bigint} */
export const smaller = (a, b) => (a < b ? a : b);

/**
 * Return the ratio of the most and the least: undefined for a report that never occurs, null where values rule it out.
 * @param {bigint} most
 * @param {bigint} least
 * @returns {Ratio}
 */
export function ratioOf(most, least) {
  if (least) return { num: most, den: least };
  return most ? null : undefined;
}

/** The ratio within a row. @param {bigint[]} row */
export const ratioIn = (row) => ratioOf(row.reduce(larger), row.reduce(smaller));

/**
 * Return the largest of the ratios of all rows.
 * @param {Ratio[]} ratios
 * @returns {Fraction | null}
 */
export function largest(ratios) {
  if (ratios.includes(null)) return null;
  const bounded = ratios.filter((ratio) => ratio !== undefined && ratio !== null);
  return bounded.length ? bounded.reduce((a, b) => (a.num * b.den >= b.num * a.den ? a : b)) : ONE;
}

/**
 * Compute γ of steps one after the other, in whole numbers or in doubles.
 * @param {Transition[]} chain
 * @param {any} as BigInt or Number
 */
export function gammaOfRows(chain, as) {
  const [{ inputs }] = chain;
  /** By the code that comes out, the chance of it for every code that came in. @type {bigint[][] | undefined} */
  let rows;
  for (const { outputs, inputs: codes, weights, next } of chain) {
    /** @type {bigint[][]} */
    const after = Array.from({ length: outputs }, () => new Array(inputs).fill(as(0n)));
    /** @type {bigint[]} */
    let words = [];
    /** @type {bigint[]} */
    let shares = [];
    for (let code = 0; code < codes; code++) {
      const wordsOfCode = weights(code);
      if (wordsOfCode !== words) shares = wordsOfCode.map(as); // many laws have the same weights for all codes
      words = wordsOfCode;
      for (const [k, share] of shares.entries()) {
        if (!share) continue;
        const row = after[next(code, k)];
        need(row);
        if (rows) addMultiple(row, rows[code], share);
        else row[code] += share;
      }
    }
    rows = after;
  }
  return largest((rows ?? []).map(ratioIn));
}

/**
 * Add a multiple of another row to a row.
 * @param {bigint[]} row
 * @param {bigint[]} other
 * @param {bigint} factor
 */
function addMultiple(row, other, factor) {
  for (let i = 0; i < row.length; i++) row[i] += factor * other[i];
}
