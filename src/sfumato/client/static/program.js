// The interpreters of drawing programs of one value and of several numbers at once (docs/programs.md).

import { isWhole, need } from "./checks.js";
import { clamped, codesOf } from "./domain.js";
import { readAlias, readSteps } from "./steps.js";
import { freshWords, UNIT } from "./words.js";

/**
 * @import { Label, RowProgram, Space, ValueProgram } from "./documents.js"
 * @import { DomainReader } from "./domain.js"
 */

/**
 * The program of one level, ready to draw.
 * @typedef {object} Part
 * @property {object} [noiseSource] the part of the program that its noise depends on; without it the whole program
 * @property {(value: any) => number | number[]} codes the code of an answer, or several
 * @property {(codes: any) => number} words how many random words a draw needs
 * @property {(codes: any, words: Uint32Array) => any} remember draw the report that a device remembers
 * @property {(report: any) => any} [again] the report that is sent of a remembered one, if it is another one
 * @property {(report: any) => boolean} carries whether a remembered report is one of this program
 */

const MOST_NOISE = 2 ** 20; // of a column, in steps of its grid: products with weights of 2^32 then stay below 2^53

/**
 * The codes and values of a program's answers, or of its reports.
 * @typedef {object} SpaceReader
 * @property {(value: any) => number} code
 * @property {(code: number) => Label} value
 * @property {(value: any) => boolean} holds
 */

/**
 * Read a space of codes: numbers on a grid, or labels (its own, or those of the domain).
 * @param {Space} space
 * @param {readonly Label[]} [domainLabels]
 * @returns {SpaceReader}
 */
function readSpace(space, domainLabels) {
  const isCode = (/** @type {number} */ code) => isWhole(code, 0, space.size - 1);
  if (!domainLabels) {
    const { code, number } = readNumbers(space);
    const value = (/** @type {number} */ place) => {
      need(isCode(place));
      return number(place);
    };
    return { code, value, holds: (report) => Number.isFinite(report) };
  }
  const labels = space.labels?.length ? space.labels : domainLabels;
  need(labels.length === space.size);
  const codes = codesOf(labels);
  return {
    code: (label) => /** @type {number} */ (codes.get(label)),
    value(code) {
      need(isCode(code));
      return labels[code];
    },
    holds: (report) => codes.has(report),
  };
}

/**
 * Read a space of numbers: classes between edges, or the grid (first + stride · code) / per.
 * @param {Space} space
 */
function readNumbers({ size, first = NaN, stride = NaN, per = NaN, edges }) {
  need(per > 0 && [per, ...(edges ?? [first, stride])].every(Number.isInteger));
  if (edges) {
    need(edges.length === size + 1);
    const inner = edges.slice(1, -1);
    return {
      code: (/** @type {number} */ x) => inner.reduce((count, edge) => count + Number(edge / per <= x), 0),
      number: (/** @type {number} */ code) => (edges[code] / per + edges[code + 1] / per) / 2,
    };
  }
  need(stride > 0);
  return {
    /** Return the nearest code; halves go to the even one. @param {number} x */
    code(x) {
      const place = clamped((x * per - first) / stride, 0, size - 1);
      const rest = place % 1;
      const lower = place - rest;
      return lower + (Number(rest > 0.5) | (Number(rest === 0.5) & lower));
    },
    number: (/** @type {number} */ code) => (first + stride * code) / per,
  };
}

/**
 * Read the program of one value. The first `permanent` steps are drawn once; the others at every round anew.
 * @param {ValueProgram} program
 * @param {DomainReader} domain
 */
export function readProgram({ read, steps, write, permanent = steps.length, remembered = write }, { labels }) {
  const labelsOf = (/** @type {Space} */ space) => (space.stride ? undefined : labels);
  const memory = readSpace(remembered, labelsOf(remembered));
  const exit = readSpace(write, labelsOf(write));
  const entry = readSpace(read, labels);
  const permanentSteps = steps.slice(0, permanent);
  const once = readSteps(permanentSteps);
  const everyRound = readSteps(steps.slice(permanent));
  /** @type {Part & { exit: SpaceReader, draw: (code: number, words: Uint32Array) => number }} */
  const part = {
    exit,
    draw: readSteps(steps).run,
    noiseSource: { read, steps: permanent === 1 ? [withoutShare(steps[0])] : permanentSteps },
    codes: entry.code,
    words: () => once.words,
    remember: (code, words) => memory.value(once.run(code, words)),
    again: (report) => exit.value(everyRound.run(memory.code(report), freshWords(everyRound.words))),
    carries: memory.holds,
  };
  return steps.length === 1 && steps[0].step === "slices" ? { ...part, ...asSeed(part, write.size) } : part;
}

/**
 * Return a step without its γ: windows share one draw at every γ, whatever the share that falls inside.
 * @param {import("./documents.js").Step} step
 */
function withoutShare(step) {
  if (step.step !== "window") return step;
  const { inside: _, ...shared } = step;
  return shared;
}

/**
 * Let reports of slices, which stand for sets of labels, be remembered as {seed}, so that no label is mistaken for one.
 * @param {{ exit: SpaceReader, draw: (code: number, words: Uint32Array) => number }} part
 * @param {number} size
 * @returns {Pick<Part, "remember" | "again" | "carries">}
 */
function asSeed({ exit, draw }, size) {
  return {
    remember: (code, words) => ({ seed: exit.value(draw(code, words)) }),
    again: ({ seed }) => seed,
    carries: (report) => isWhole(report?.seed, 0, size - 1),
  };
}

/**
 * Read the program of several numbers: the noise of a column lies around a weighted sum of those before it.
 * @param {RowProgram} program
 * @param {DomainReader} domain
 */
export function readColumns({ columns }, { names = [] }) {
  need(columns.length === names.length);
  const spaces = columns.map(({ noise, offset, weights, ...space }) => {
    return { ...readNumbers(space), offset, weights: [...weights], alias: readAlias([noise]) };
  });

  /** Draw the codes of a row's report. @param {number[]} codes @param {Uint32Array} words */
  function draw(codes, words) {
    /** @type {number[]} */
    const noise = [];
    for (const [j, { alias, offset, weights }] of spaces.entries()) {
      let sum = alias(0, words[4 * j], words[4 * j + 1]) - offset;
      let rest = words[4 * j + 2]; // of the sum, over 2^32
      for (const [i, weight] of weights.entries()) {
        const whole = Math.floor(weight / UNIT);
        rest += (weight - whole * UNIT) * noise[i];
        const carried = Math.floor(rest / UNIT);
        sum += whole * noise[i] + carried;
        rest -= carried * UNIT;
      }
      need(Math.abs(sum) <= MOST_NOISE); // so that no product was rounded
      noise.push(sum);
    }
    return codes.map((code, j) => code + noise[j]);
  }

  return {
    draw,
    codes: (/** @type {Record<string, number>} */ row) => spaces.map(({ code }, j) => code(row[names[j]])),
    words: () => 2 * names.length,
    remember(/** @type {number[]} */ codes, /** @type {Uint32Array} */ words) {
      const numbers = draw(codes, words).map((code, j) => spaces[j].number(code));
      return Object.fromEntries(names.map((name, j) => [name, numbers[j]]));
    },
    carries: (/** @type {Record<string, number>} */ report) => names.every((name) => Number.isFinite(report[name])),
  };
}
