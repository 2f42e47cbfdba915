// The cells, of labels or of numbers, by which a model reads answers.

import { need } from "./checks.js";
import { codesOf } from "./domain.js";

/** @import { CellsForm } from "./documents.js" */

/** Sum numbers in their order. @param {number[]} parts */
export const sumOf = (parts) => parts.reduce((sum, part) => sum + part, 0);

/**
 * Return a label as it is compared: in Python true and 1 are one label.
 * @param {any} label
 */
export const labelKey = (label) => (typeof label === "boolean" ? Number(label) : label);

/**
 * Read a column's cells: how many there are, and the cell of an answer, null where it is missing or unknown.
 * @param {CellsForm} form
 */
export function readCells({ labels, edges }) {
  const codes = labels && codesOf(labels.map(labelKey));
  const inner = edges?.slice(1, -1);
  return {
    size: codes?.size ?? (inner ? inner.length + 1 : NaN),
    /** @param {any} answer @returns {number | null} */
    cellOf(answer) {
      need(answer !== undefined, "model");
      if (codes) return codes.get(answer) ?? null;
      if (!inner || answer === null) return answer;
      return inner.filter((edge) => edge <= answer).length;
    },
  };
}
