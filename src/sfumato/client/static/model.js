// Models that are sent to devices (learners/device.py). No file is trusted: it must give a mass for every class.

import { labelKey, sumOf } from "./cells.js";
import { attempt, checkVersion, need, refuse, sentenceOf } from "./checks.js";
import { readDomain } from "./domain.js";
import { readForm } from "./forms.js";

/**
 * @import { Domain, Label } from "./documents.js"
 * @import { DomainReader, Rules } from "./domain.js"
 * @import { Decide } from "./forms.js"
 */

/**
 * A question whose answer a model reads: one of some labels, a number, or anything.
 * @typedef {Domain & Rules & { name: string, labels?: Label[] }} ModelQuestion
 * @typedef {ModelQuestion & Pick<DomainReader, "value">} CheckedQuestion
 * @typedef {{ classes: Label[], reads: CheckedQuestion[], decide: Decide }} ReadModel
 */

/** @type {typeof import("./sfumato.js").readModel} */
export function readModel(json) {
  return attempt("model", () => {
    const { format, version, device, model } = typeof json === "string" ? JSON.parse(json) : json;
    if (format !== "sfumato-model") refuse("The file is no model of sfumato; fetch it again.");
    checkVersion(version, "model");
    const { classes, reads } = device ?? {};
    if (!classes?.length) refuse("The model has no classes, or no part for devices; save it again.");
    const decide = readForm(device, model, classes);
    return {
      classes,
      decide,
      reads: reads.map((/** @type {ModelQuestion} */ question) => ({ ...question, value: checkOf(question) })),
    };
  });
}

/** @type {typeof import("./sfumato.js").predict} */
export function predict(model, answers) {
  const { reads, classes, decide } = /** @type {ReadModel} */ (model);
  const values = reads.map((question) => {
    try {
      if (!Object.hasOwn(answers, question.name)) refuse("The answer is not there; give one.");
      return question.value(answers[question.name], question);
    } catch (error) {
      return refuse(`${question.name}: ${sentenceOf(error, "model")}`);
    }
  });
  return attempt("model", () => {
    const { scores, weights = scores, rule = null } = decide(values);
    need(scores.length === classes.length && weights.every(isMass), "model");
    const total = sumOf(weights);
    const shares = classes.map((label, y) => [label, weights[y] / total]);
    const label = classes[scores.indexOf(Math.max(...scores))];
    return { label, probabilities: Object.fromEntries(shares), rule };
  });
}

/** Whether a weight can be the mass of a class. @param {number} weight */
const isMass = (weight) => Number.isFinite(weight) && weight >= 0;

/**
 * Return the function that checks an answer and returns its value.
 * @param {ModelQuestion} question
 * @returns {(answer: any, rules: Rules) => any}
 */
function checkOf({ labels, low, high, integer }) {
  if (labels) {
    const { value } = readDomain({ categories: labels.map(labelKey) });
    return (answer, rules) => value(labelKey(answer), rules);
  }
  if (low === undefined) return (answer) => answer ?? null;
  return readDomain({ low, high, integer }).value;
}
