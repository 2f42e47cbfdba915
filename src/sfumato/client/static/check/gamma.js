// γ read off a drawing program: the largest ratio within a row of the law, {num, den}; null where it has no bound.
// The page does not load this: it comes from whoever states the γ. It is for those who have the device from elsewhere.

import { isWhole, need, refuse, sentenceOf } from "../checks.js";
import { ONE, readGamma, reduced } from "../fractions.js";
import { directionsOf } from "../steps.js";
import { gammaOfBasket } from "./baskets.js";
import { lawOf } from "./laws.js";
import { gammaOfRows } from "./rows.js";

/**
 * @import { LevelProgram, RowProgram, Step, ValueProgram } from "../documents.js"
 * @import { Fraction } from "../sfumato.js"
 * @import { Law, Transition } from "./laws.js"
 */

const MOST_EXACT_WORK = 3e6; // multiplications up to which a chain's γ is computed in whole numbers; by judgement, a second
const MOST_WORK = 5e8; // and up to which in doubles: the same
const PRECISION = 10n ** 9n; // of a γ that is computed in doubles: it is rounded up by one part in so many
const MOST_CODES = 2 ** 20; // of one step; by judgement, against programs that ask for memory without end

/** @type {typeof import("./gamma.js").checkGammas} */
export function checkGammas(survey) {
  for (const { name, program, levels } of survey.questions) {
    for (const [level, { gamma }] of Object.entries(levels)) {
      const ofLevel = program && "levels" in program ? program.levels[level] : program;
      const computed = ofLevel && gammaOf(ofLevel);
      if (!isTrue(readGamma(gamma), computed)) {
        refuse(`${name}: The program has another γ than the survey states; load it again.`);
      }
    }
  }
  return survey;
}

/**
 * Return whether a stated γ (null claims nothing) is the program's, up to the precision of large ones.
 * @param {Fraction | null} stated
 * @param {Fraction | null} computed
 */
function isTrue(stated, computed) {
  if (!stated || !computed) return !stated;
  const a = stated.num * computed.den;
  const b = computed.num * stated.den;
  const difference = a < b ? b - a : a - b;
  return difference * PRECISION < b;
}

/** @type {typeof import("./gamma.js").gammaOf} */
export function gammaOf(program) {
  try {
    const gamma = compute(program);
    return gamma && reduced(gamma);
  } catch (error) {
    return refuse(sentenceOf(error, "program"));
  }
}

/**
 * Check a program and compute its γ; null: no bound.
 * @param {LevelProgram} program
 * @returns {Fraction | null}
 */
function compute(program) {
  if ("columns" in program) {
    checkColumns(program);
    return null; // correlated noise has no bound
  }
  if ("sizes" in program) return gammaOfBasket(program);
  checkSteps(program);
  return gammaOfSteps(program.read.size, program.steps.slice(0, program.permanent));
}

/**
 * Return how many codes a step takes; undefined: any.
 * @param {Step} step
 */
function inputsOf(step) {
  switch (step.step) {
    case "window":
      return step.others + 1;
    case "table":
      return step.tables.length;
    case "map":
      return step.codes.length;
    case "spread":
      return step.outputs;
    default:
      return undefined; // a shift takes any, and slices any that the grid holds
  }
}

/** Return how many codes a step gives. @param {Step} step */
function outputsOf(step) {
  if (step.step === "window") return step.window + step.others;
  if (step.step === "slices") return step.prime * directionsOf(step);
  return step.outputs;
}

/** Return how many random words a step uses up. @param {Step} step */
function wordsOf({ step }) {
  if (step === "slices") return 3;
  if (step === "window") return 2;
  return step === "map" ? 0 : 1;
}

/**
 * Refuse unless each step takes the codes that the one before it gives, and sizes and the count of words are as stated.
 * @param {ValueProgram} program
 */
function checkSteps({ words, read, steps, write, permanent = steps.length, remembered = write }) {
  const sizes = [read.size];
  for (const step of steps) {
    const size = sizes[sizes.length - 1];
    need((inputsOf(step) ?? size) === size);
    sizes.push(outputsOf(step));
    if (step.step === "shift") checkAliases([step.noise]);
    if (step.step === "table") checkAliases(step.tables);
  }
  need(words === steps.reduce((sum, step) => sum + wordsOf(step), 0));
  need(sizes.every((size) => isWhole(size, 1, MOST_CODES)));
  need(remembered.size === sizes[permanent] && write.size === sizes.at(-1));
}

/** Refuse unless alias tables have one size, a power of 2. @param {string[][]} tables */
function checkAliases(tables) {
  const [{ length }] = tables;
  need(tables.every((table) => table.length === length) && isWhole(Math.log2(length), 1, 22));
}

/** Refuse unless a program of several numbers is sound. @param {RowProgram} program */
function checkColumns({ words, columns }) {
  need(words === 2 * columns.length);
  for (const [j, { weights, offset, noise }] of columns.entries()) {
    need(weights.length === j && [offset, ...weights].every(Number.isSafeInteger));
    checkAliases([noise]);
  }
}

/**
 * Compute γ of one step exactly, of several exactly where that is little work; else rounded up, never above one step's.
 * @param {number} size of the codes that come in
 * @param {Step[]} steps
 * @returns {Fraction | null}
 */
function gammaOfSteps(size, steps) {
  if (!steps.length) return size > 1 ? null : ONE;
  const laws = lawsOf(size, steps);
  if (laws.length === 1 || laws.every(({ words }) => words === 0)) return laws[0].gamma();
  const chain = shortened(laws);
  if (exactWork(laws) <= MOST_EXACT_WORK) return gammaOfRows(chain, BigInt);
  const bounds = laws.map((law) => law.gamma()).filter((gamma) => gamma !== null);
  const rough = doubleWork(chain, size) <= MOST_WORK ? gammaOfRows(chain, Number) : null;
  const ratio = rough ? Number(rough.num) / Number(rough.den) : Infinity;
  if (ratio < Infinity) bounds.push(roundedUp(ratio));
  return bounds.reduce(smallest, null);
}

/**
 * Return the laws of steps one after the other.
 * @param {number} size
 * @param {Step[]} steps
 */
function lawsOf(size, steps) {
  /** @type {Law[]} */
  const laws = [];
  for (const step of steps) laws.push(lawOf(step, laws.at(-1)?.outputs ?? size));
  return laws;
}

/**
 * Shorten a chain of steps: a map joins the step before it, and the last step may have a shorter form.
 * @param {Law[]} laws
 */
function shortened(laws) {
  const last = laws[laws.length - 1];
  /** @type {Transition[]} */
  const chain = [];
  for (const law of [...laws.slice(0, -1), last.short ?? last]) {
    const before = law.codes && chain.pop();
    chain.push(before ? joined(before, law) : law);
  }
  return chain;
}

/**
 * Join a step and the map after it into one.
 * @param {Transition} before
 * @param {Transition} map
 * @returns {Transition}
 */
function joined({ through, ...before }, map) {
  const next = (/** @type {number} */ code, /** @type {number} */ k) => map.next(before.next(code, k), 0);
  return { ...before, next, ...through?.(map.codes ?? []), outputs: map.outputs };
}

/** Count the multiplications of γ in whole numbers. @param {Law[]} laws */
function exactWork([first, ...others]) {
  const areas = others.map(({ inputs, outputs }) => inputs * outputs * outputs);
  return areas.reduce((sum, area) => sum + area, first.inputs * first.outputs);
}

/** Count the multiplications of γ in doubles. @param {Transition[]} chain @param {number} size */
function doubleWork([first, ...others], size) {
  const areas = others.map(({ inputs, outputs }) => inputs * outputs * size);
  return areas.reduce((sum, area) => sum + area, first.inputs * first.outputs);
}

/**
 * Return a double as a fraction, rounded up by more than the doubles that it comes from have lost.
 * @param {number} ratio
 * @returns {Fraction}
 */
function roundedUp(ratio) {
  let whole = ratio;
  let den = PRECISION;
  for (; whole % 1; whole *= 2) den *= 2n;
  return { num: BigInt(whole) * (PRECISION + 1n), den };
}

/**
 * Return the smaller of two fractions.
 * @param {Fraction | null} a null: none so far
 * @param {Fraction} b
 */
function smallest(a, b) {
  return a && a.num * b.den < b.num * a.den ? a : b;
}
