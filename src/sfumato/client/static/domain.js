// Domains: the values that a question may be answered with, and the check of an answer.

import { isWhole, need, refuse } from "./checks.js";

/**
 * @import { Domain, Label } from "./documents.js"
 * @import { Answer } from "./sfumato.js"
 */

/**
 * Rules for a missing answer ("refuse", or sent as null) and for a number outside the range ("clamp", or refused).
 * @typedef {{ missing?: string | null, outside?: string | null }} Rules
 */

/**
 * A domain, ready to check. `value` returns the answer if it is valid, null if it is missing, and refuses any other.
 * @typedef {object} DomainReader
 * @property {(answer: any, rules?: Rules) => any} value
 * @property {string[]} [names] of the columns of a row
 * @property {Label[]} [labels] of categories
 * @property {number} [count] of categories or items
 * @property {(label: Label) => number | undefined} [codeOf] of a category or an item
 */

const MOST_LABELS = 2 ** 22; // by judgement, against documents that ask for memory without end

/**
 * Return the number from low to high that is nearest to x.
 * @param {number} x
 * @param {number} low
 * @param {number} high
 */
export const clamped = (x, low, high) => Math.min(Math.max(x, low), high);

/** The code of every label, by its place. @param {readonly Label[]} labels */
export const codesOf = (labels) => new Map(labels.map((label, code) => [label, code]));

/**
 * Read a domain.
 * @param {Domain} spec
 * @returns {DomainReader}
 */
export function readDomain({ low, high, integer, categories, items, columns }) {
  if (columns) return readRow(columns);
  if (categories) return readCategories(categories);
  if (items) return readItems(items);
  return readInterval(low, high, integer);
}

/**
 * Read the domain of several numbers; their row is missing as a whole where one of them is.
 * @param {Record<string, Domain>} columns
 * @returns {DomainReader}
 */
function readRow(columns) {
  const names = Object.keys(columns);
  const parts = names.map((name) => readDomain(columns[name]));
  return {
    names,
    value(row) {
      const values = parts.map((part, j) => part.value(row?.[names[j]]));
      if (values.includes(null)) return null;
      return Object.fromEntries(names.map((name, j) => [name, values[j]]));
    },
  };
}

/**
 * Read the domain of one label.
 * @param {Label[]} labels
 * @returns {DomainReader}
 */
function readCategories(labels) {
  const codes = codesOf(labels);
  need(isWhole(codes.size, 1, MOST_LABELS));
  return {
    labels,
    count: codes.size,
    codeOf: (label) => codes.get(label),
    value: unlessMissing((answer) => {
      return codes.has(answer) ? answer : refuse("The answer is none of the categories; choose one.");
    }),
  };
}

/**
 * Read the domain of baskets, of items by name or by number.
 * @param {number | Label[]} items
 * @returns {DomainReader}
 */
function readItems(items) {
  const codes = typeof items === "number" ? null : codesOf(items);
  const count = codes ? codes.size : Number(items);
  need(isWhole(count, 1, MOST_LABELS));
  /** @param {Label} item */
  const codeOf = (item) => (codes ? codes.get(item) : isWhole(item, 0, count - 1) ? item : undefined);
  return {
    count,
    codeOf,
    value: unlessMissing((answer) => {
      const isList = Array.isArray(answer) && answer.every((item) => codeOf(item) !== undefined);
      if (!isList || new Set(answer).size !== answer.length) {
        refuse("The answer is no list of different items; mend it.");
      }
      return [...answer].sort((a, b) => Number(codeOf(a)) - Number(codeOf(b)));
    }),
  };
}

/**
 * Read the domain of one number.
 * @param {number | undefined} low
 * @param {number | undefined} high
 * @param {boolean | undefined} isInteger
 * @returns {DomainReader}
 */
function readInterval(low, high, isInteger) {
  need(typeof low === "number" && typeof high === "number" && Number.isFinite(low) && Number.isFinite(high));
  need(low < high);
  return {
    value: unlessMissing((answer, { outside }) => {
      const x = outside === "clamp" ? clamped(answer, low, high) : answer;
      const isSound = typeof answer === "number" && low <= x && x <= high && !(isInteger && x % 1);
      if (!isSound) refuse(`The answer is no ${isInteger ? "whole " : ""}number from ${low} to ${high}; correct it.`);
      return x + 0; // −0 is 0
    }),
  };
}

/**
 * Let a check pass missing answers by the rules.
 * @param {(answer: any, rules: Rules) => Answer} check
 * @returns {DomainReader["value"]}
 */
function unlessMissing(check) {
  return (answer, rules = {}) => {
    if (!isMissing(answer)) return check(answer, rules);
    return rules.missing === "refuse" ? refuse("The answer is missing; give one.") : null;
  };
}

/**
 * Return whether an answer is missing: null, undefined, or NaN, which an empty field of numbers gives.
 * @param {unknown} answer
 */
export const isMissing = (answer) => answer === null || answer === undefined || Number.isNaN(answer);
