// Exact numbers: γ and its products, as fractions of whole numbers.

import { need } from "./checks.js";

/** @import { Fraction } from "./sfumato.js" */

/** The number 1. @type {Fraction} */
export const ONE = { num: 1n, den: 1n };

/**
 * Read γ as it is written: "19" or "57/3", at least 1; null: without bound.
 * @param {string | null} text
 * @returns {Fraction | null}
 */
export function readGamma(text) {
  if (text === null) return null;
  need(/^\d{1,2000}(\/0*[1-9]\d{0,2000})?$/.test(text), "γ");
  const [num, den = 1n] = text.split("/").map(BigInt);
  need(num >= den, "γ");
  return { num, den };
}

/** Write a fraction: "19" or "57/3". @param {Fraction} fraction */
export function fractionText({ num, den }) {
  return den > 1n ? `${num}/${den}` : `${num}`;
}

/**
 * Reduce a fraction to lowest terms.
 * @param {Fraction} fraction
 * @returns {Fraction}
 */
export function reduced({ num, den }) {
  let [a, b] = [num, den];
  while (b) [a, b] = [b, a % b];
  return { num: num / a, den: den / a };
}

/**
 * Return 10 to a power, and 1 for negative powers.
 * @param {number} power
 */
export const tens = (power) => 10n ** BigInt(Math.max(power, 0));

/**
 * Return, exactly, the decimal number as which a double is printed.
 * @param {number} number
 * @returns {Fraction}
 */
export function decimal(number) {
  const [digits, exponent = "0"] = `${number}`.split("e");
  const [whole, part = ""] = digits.split(".");
  const power = Number(exponent) - part.length;
  return { num: BigInt(whole + part) * tens(power), den: tens(-power) };
}

/**
 * Multiply factors; null where one of them is null.
 * @param {(Fraction | null)[]} factors
 * @returns {Fraction | null}
 */
export function product(factors) {
  return factors.reduce((a, b) => a && b && { num: a.num * b.num, den: a.den * b.den }, ONE);
}

/**
 * Divide to a whole number: rounded up, or to the nearest with halves to even.
 * @param {bigint} num
 * @param {bigint} den
 * @param {boolean} [up]
 */
export function quotient(num, den, up) {
  const floor = num / den;
  const twice = 2n * (num % den);
  const isNearerAbove = twice > den || (twice === den && floor % 2n === 1n);
  const isRaised = up ? twice > 0n : isNearerAbove;
  return Number(isRaised ? floor + 1n : floor);
}
