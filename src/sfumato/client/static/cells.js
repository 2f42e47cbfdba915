// How a model sees answers: as cells of labels or of numbers.

import { need } from "./checks.js";
import { codesOf } from "./domain.js";

/** @import { CellsForm } from "./documents.js" */

/** @param {number[]} parts */
export const sumOf = (parts) => parts.reduce((sum, part) => sum + part, 0);

/**
 * True and 1 are one label in Python.
 * @param {any} label
 */
export const labelKey = (label) => (typeof label === "boolean" ? Number(label) : label);

/**
 * The cell of an answer to a column, null where it is missing or unknown; and how many cells there are.
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
