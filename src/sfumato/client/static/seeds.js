// Seeds of baskets (docs/programs-baskets.md): a row of elements of GF(2^degree) from which every item has a number
// that is linear in the row's bits. A basket is shown by changing the numbers of its items.

import { isWhole, need } from "./checks.js";

/** @import { SeedForm } from "./documents.js" */

const MOST_WORK = 2 ** 30; // steps of an elimination; by judgement, a few seconds of a browser

/** A row of zeros. */
const zeros = (/** @type {number} */ length) => new Array(length).fill(0);

/**
 * Read the form of seeds for baskets of one size.
 * @param {SeedForm} form
 * @param {number} size of the basket
 * @param {number} depth bits of an item's number
 */
export function readSeed({ construction, bits, degree, polynomial }, size, depth) {
  const isBch = construction === "bch";
  const count = bits / degree; // elements of a seed
  const order = 2 ** degree - 1; // of the field's units
  need(isWhole(degree, 2, 22) && isWhole(count, isBch ? 1 : size, MOST_WORK / (size * depth) ** 2));

  /** Multiply two elements of the field. @param {number} a @param {number} b */
  function multiply(a, b) {
    let product = 0;
    for (let i = degree - 1; i >= 0; i--) {
      const reduction = polynomial & -(product >> (degree - 1));
      product = (product << 1) ^ reduction ^ (a & -((b >> i) & 1));
    }
    return product;
  }

  /** Raise an element to a power. @param {number} a @param {number} exponent */
  function power(a, exponent) {
    let result = 1;
    for (let i = degree - 1; i >= 0; i--) {
      const isSet = -((exponent >> i) & 1);
      result = multiply(multiply(result, result), (a & isSet) | (1 & ~isSet));
    }
    return result;
  }

  /** The inverse of an element. @param {number} a */
  const inverse = (a) => power(a, order - 1);

  /**
   * Return the coefficients of the polynomial with these values at these points: Newton's divided differences, Horner.
   * @param {number[]} points
   * @param {number[]} values
   */
  function interpolated(points, values) {
    const differences = [...values];
    for (let r = 1; r < size; r++) {
      for (let i = size - 1; i >= r; i--) {
        differences[i] = multiply(differences[i] ^ differences[i - 1], inverse(points[i] ^ points[i - r]));
      }
    }
    /** @type {number[]} */
    let coefficients = zeros(size);
    for (let i = size - 1; i >= 0; i--) {
      coefficients = coefficients.map((x, c) => multiply(x, points[i]) ^ (coefficients[c - 1] ?? differences[i]));
    }
    return coefficients;
  }

  /**
   * Return, for every bit of an item's number, the elements that its parity is taken with.
   * @param {number} item
   */
  function rowsOf(item) {
    return Array.from({ length: depth }, (_, bit) => {
      const place = item * depth + bit;
      return Array.from({ length: count }, (_, c) => power(2, (place * (2 * c + 1)) % order));
    });
  }

  /**
   * Solve for elements that change the numbers of these items by these amounts: elimination, the lowest bits as pivots.
   * @param {number[]} items
   * @param {number[]} amounts
   */
  function solved(items, amounts) {
    const equations = items.flatMap((item, i) => {
      return rowsOf(item).map((row, bit) => [...row, (amounts[i] >> (depth - 1 - bit)) & 1]);
    });
    const pivots = equations.map((equation) => {
      const element = equation.findIndex(Boolean);
      const pivot = equation[element] & -equation[element];
      for (const other of equations) {
        const mask = -Number(other !== equation && (other[element] & pivot) !== 0);
        equation.forEach((x, i) => {
          other[i] ^= x & mask;
        });
      }
      return { element, pivot };
    });
    /** @type {number[]} */
    const change = zeros(count);
    pivots.forEach(({ element, pivot }, i) => {
      change[element] |= pivot & -equations[i][count];
    });
    return change;
  }

  /**
   * Repack the bits of numbers of one width as numbers of another, least significant first.
   * @template {number[] | Uint8Array} T
   * @param {ArrayLike<number>} from
   * @param {number} width
   * @param {T} to
   * @param {number} newWidth
   */
  function repacked(from, width, to, newWidth) {
    for (let i = 0; i < bits; i++) {
      const bit = (from[Math.floor(i / width)] >>> (i % width)) & 1;
      to[Math.floor(i / newWidth)] |= bit << (i % newWidth);
    }
    return to;
  }

  /** Read an item's number off a BCH seed. @param {number[]} elements @param {number} item */
  function numberByParity(elements, item) {
    const parities = rowsOf(item).map((row) => parity(row.reduce((sum, x, c) => sum ^ (x & elements[c]), 0)));
    return parities.reduce((number, bit) => 2 * number + bit, 0);
  }

  /** Read an item's number off the seed of a polynomial. @param {number[]} elements @param {number} item */
  function numberByPolynomial(elements, item) {
    const value = elements.reduceRight((sum, element) => multiply(sum, item) ^ element, 0);
    return value & (2 ** depth - 1);
  }

  return {
    bits,
    /** @param {Uint8Array} row @returns {number[]} */
    elements: (row) => repacked(row, 8, zeros(count), degree),
    /** @param {number[]} elements */
    row: (elements) => repacked(elements, degree, new Uint8Array(Math.ceil(bits / 8)), 8),
    number: isBch ? numberByParity : numberByPolynomial,
    change: isBch ? solved : interpolated,
  };
}

/** Return the parity of a number's bits, 1 or 0. @param {number} x */
function parity(x) {
  return [16, 8, 4, 2, 1].reduce((sum, by) => sum ^ (sum >> by), x) & 1;
}
