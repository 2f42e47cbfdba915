// The forms of models: trees, sums of scores, pools of models, and joint models (joint.js). Sums run in Python's order,
// so that both languages name the same class.

import { readCells, sumOf } from "./cells.js";
import { need } from "./checks.js";
import { readJoint } from "./joint.js";

/**
 * @import { DeviceForm, JointModelForm, Label, PoolForm, SumForm, Term, TreeForm, TreeNode } from "./documents.js"
 */

/**
 * Computes the scores of the classes by the answers; the largest decides. `weights` are the masses that probabilities
 * are made of where those are not the scores, and `rule` has the conditions that decided.
 * @typedef {(answers: any[]) => { scores: number[], weights?: number[], rule?: string[] | null }} Decide
 */

/**
 * Read one form of a model. A joint model's numbers are in the model itself, the others' in their part for devices.
 * @param {DeviceForm} part
 * @param {any} model
 * @param {Label[]} classes
 * @returns {Decide}
 */
export function readForm(part, model, classes) {
  switch (part.form) {
    case "tree":
      return readTree(part, classes);
    case "sum":
      return readSum(part);
    case "pool":
      return readPool(part, model, classes);
    case "joint":
      return readJoint(/** @type {JointModelForm} */ (model.members[0].model ?? model), classes);
    default:
      need(false, "model");
  }
}

/**
 * Read a tree. Where an answer is missing that a node asks for, both of its sides count; the rule follows the larger.
 * @param {TreeForm} form
 * @param {Label[]} classes
 * @returns {Decide}
 */
function readTree({ columns, nodes }, classes) {
  const cells = columns.map(readCells);
  return (answers) => {
    const scores = classes.map(() => 0);
    /** How much of the person each node has; a node stands after its parent. */
    const weights = [1];
    /** The last condition on each column. @type {Map<number, string>} */
    const rule = new Map();
    let main = 0; // the node that the rule has come to
    for (const [at, node] of nodes.entries()) {
      const weight = weights[at];
      if (!weight) continue;
      if (node.counts) {
        const total = sumOf(node.counts);
        for (const [y, count] of node.counts.entries()) scores[y] += (weight * count) / total;
        continue;
      }
      const value = cells[node.column].cellOf(answers[node.column]);
      const goesLeft = value === null ? Number(node.missing_left) : Number(isLeft(node, value));
      if (at === main) {
        rule.set(node.column, node.said[value === null ? 2 : 1 - goesLeft]);
        main = goesLeft ? node.left : node.right;
      }
      const [left, right] = (value === null && node.parts) || [goesLeft, 1 - goesLeft];
      weights[node.left] = weight * left;
      weights[node.right] = weight * right;
    }
    need(sumOf(scores), "model");
    return { scores, rule: [...rule.values()] };
  };
}

/** Whether a value goes to a node's left side. @param {TreeNode} node @param {number} value */
const isLeft = ({ cut }, value) => (Array.isArray(cut) ? cut.includes(value) : value < cut);

/**
 * Read a model whose scores are sums of terms.
 * @param {SumForm} form
 * @returns {Decide}
 */
function readSum({ start, terms }) {
  const addends = terms.map(readTerm);
  return (answers) => {
    const scores = start.map((from, y) => addends.reduce((sum, addend) => sum + addend(answers, y), from));
    const largest = Math.max(...scores);
    return { scores, weights: scores.map((score) => Math.exp(score - largest)) };
  };
}

/**
 * Read a term: a function that returns its addend to a class's score.
 * @param {Term} term
 * @returns {(answers: any[], y: number) => number}
 */
function readTerm({ column, factors, missing, scores, peak, curve, mean, slope, least = -Infinity, ...form }) {
  if (factors) {
    const terms = factors.map(readTerm);
    return (answers, y) => terms.reduce((product, term) => product * term(answers, 0), slope[y]);
  }
  const { cellOf } = readCells(form);
  return (answers, y) => {
    const x = cellOf(answers[column]);
    if (x === null) return missing[y];
    if (scores) return scores[x][y];
    const away = x - mean[y];
    return Math.max(least, peak[y] - curve[y] * (away * away) + slope[y] * x);
  };
}

const PYTHON_STEPS = 2 ** 30; // Python rounds the shares that it pools to this fraction

/**
 * Read a pool of models: the scores are the weighted shares of its members.
 * @param {PoolForm} form
 * @param {{ members: { model: any }[] }} model
 * @param {Label[]} classes
 * @returns {Decide}
 */
function readPool({ parts }, { members }, classes) {
  const deciders = parts.map((part, m) => readForm(part, members[m].model, classes));
  return (answers) => {
    const shares = deciders.map((decide) => {
      const { scores, weights = scores } = decide(answers);
      const total = sumOf(weights);
      return weights.map((weight) => Math.round((weight / total) * PYTHON_STEPS) / PYTHON_STEPS);
    });
    return { scores: classes.map((_, y) => shares.reduce((sum, share, m) => sum + parts[m].weight * share[y], 0)) };
  };
}
