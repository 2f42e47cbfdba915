// The interpreter of drawing programs (docs/programs.md), and the γ that is read off them.
// Choices are computed both ways and selected by arithmetic, so that the time tells nothing about the answer. What
// JavaScript cannot promise: that the engine keeps it so, and that memory is equally fast at every place.

import { blake2b8, refuse } from "./words.js";

const MOST_CODES = 1 << 20;
const LARGEST = Number.MAX_SAFE_INTEGER;
const UNIT = 2 ** 32;
export const WORD = 1n << 64n;
const EXACT_WORK = 3e6; // up to so many multiplications the γ of a chain is computed in whole numbers,
const MOST_WORK = 5e8; // up to so many in doubles

// --- checking ---

export const damaged = (what) => refuse(`The program is damaged (${what}); load the survey again.`);

export function whole(value, low, high, name) {
  return Number.isInteger(value) && low <= value && value <= high ? value : damaged(`${name} is ${typeof value}`);
}

export function list(values, name, size = values?.length) {
  return Array.isArray(values) && values.length === size ? values : damaged(`${name} is no list or has another length`);
}

const wholes = (values, low, high, name, size) => list(values, name, size).map((each) => whole(each, low, high, name));

/** The halves of a word. */
export function halves(text) {
  if (typeof text !== "string" || !/^[0-9a-f]{16}$/.test(text)) damaged("a word is not sixteen hexadecimal digits");
  return [parseInt(text.slice(0, 8), 16), parseInt(text.slice(8), 16)];
}

export function checkLabels(labels, size) {
  const plain = list(labels, "labels", size).every((label) => /string|number|boolean/.test(typeof label));
  return plain && new Set(labels).size === labels.length ? labels : damaged("labels are not plain and different");
}

/** What a function returns, computed when first asked for. */
export function once(make) {
  let found;
  return () => (found ??= [make()])[0];
}

// --- drawing ---

/** ⌊word · bound / 2^64⌋ for bounds up to 2^20: no product is rounded. */
export function below(high, low, bound) {
  return Math.floor((high * bound + Math.floor((low * bound) / UNIT)) / UNIT);
}

/** 1 where word a is less than word b, else 0. */
export const less = (aHigh, aLow, bHigh, bLow) => (aHigh < bHigh) | ((aHigh === bHigh) & (aLow < bLow));

/** Alias tables one after the other, each of 2^bits entries of 64 bits: threshold · 2^bits + alias. */
function readAlias(tables) {
  const size = list(tables[0], "noise").length;
  const bits = 31 - Math.clz32(size);
  if (size < 2 || size !== 1 << bits || bits > 22) damaged("noise is no table of 2, 4, 8, …");
  const entries = tables.flatMap((table) => list(table, "tables", size).map(halves));
  const [high, low] = [0, 1].map((half) => Uint32Array.from(entries, (entry) => entry[half]));
  const lower = (i) => ((high[i] << (32 - bits)) | (low[i] >>> bits)) >>> 0; // of the threshold
  return {
    size,
    draw(wordHigh, wordLow, column = 0) {
      const place = wordHigh >>> (32 - bits);
      const i = column * size + place;
      const alias = low[i] & (size - 1);
      return alias + (place - alias) * less((wordHigh << bits) >>> bits, wordLow, high[i] >>> bits, lower(i));
    },
    /** How many of the 2^64 words choose each code. */
    weights(column = 0) {
      const found = new Array(size).fill(0n);
      for (let place = 0, i = column * size; place < size; place++, i++) {
        const own = (BigInt(high[i] >>> bits) << 32n) | BigInt(lower(i));
        found[place] += own;
        found[low[i] & (size - 1)] += (WORD >> BigInt(bits)) - own;
      }
      return found;
    },
  };
}

/** How many words lead `below` to each place. */
function wordsBelow(places) {
  const first = (place) => (BigInt(place) * WORD + BigInt(places - 1)) / BigInt(places);
  return Array.from({ length: places }, (_, place) => first(place + 1) - first(place));
}

// --- steps ---
// draw(code, words, at) is the next code; law(as)(code, tell) tells every next code and how many words lead there, as
// whole numbers or doubles.

const STEPS = {
  shift({ noise, offset }, inputs, outputs) {
    const alias = readAlias([noise]);
    whole(offset, 0, 2 * MOST_CODES, "offset");
    const weights = once(alias.weights);
    const clamped = (code) => Math.min(Math.max(code, 0), outputs - 1);
    const sum = (from, to) => weights().slice(Math.max(from, 0), Math.max(to, 0)).reduce((a, b) => a + b, 0n);
    const draw = (code, words, at) => clamped(code + alias.draw(words[at], words[at + 1]) - offset);
    const law = (as) => {
      const shares = weights().map(as);
      return (code, tell) => shares.forEach((share, k) => tell(clamped(code + k - offset), share));
    };
    /** Inner rows slide along the weights; end rows are sums that fall or rise with the code. */
    const gamma = () => {
      const [low, high] = [offset + 1 - inputs, offset + outputs - 1];
      if (outputs === 1) return ONE;
      const ends = [ratio(sum(0, offset + 1), sum(0, low + 1)), ratio(sum(high + 1 - inputs, alias.size), sum(high, alias.size))];
      const inner = Array.from({ length: high - low - 1 }, (_, i) => weights()[low + 1 + i] ?? 0n);
      const least = sliding(inner, inputs, smaller);
      return largest([...ends, ...sliding(inner, inputs, larger).map((most, i) => ratio(most, least[i]))]);
    };
    return { words: 1, draw, law, gamma };
  },

  window({ inside, window, others }, inputs) {
    const [high, low] = halves(inside);
    const near = BigInt(`0x${inside}`);
    const far = WORD / 2n - near;
    whole(window, 1, MOST_CODES, "window");
    if (others !== inputs - 1 || far < 0n || (others === 0 && far)) damaged("a window does not fit");
    const draw = (code, words, at) => {
      const hit = less(words[at] >>> 1, ((words[at] << 31) | (words[at + 1] >>> 1)) >>> 0, high, low);
      const place = below(words[at + 2], words[at + 3], others);
      const missed = place + window * (place >= code);
      return missed + (code + below(words[at + 2], words[at + 3], window) - missed) * hit;
    };
    const law = (as) => {
      const inner = wordsBelow(window).map((count) => as(near * count));
      const outer = wordsBelow(others).map((count) => as(far * count));
      return (code, tell) => {
        inner.forEach((share, place) => tell(code + place, share));
        outer.forEach((share, place) => tell(place < code ? place : place + window, share));
      };
    };
    const gamma = () => {
      if (others === 0) return ONE;
      const ends = (share, places) => [share * (WORD / places), share * ((WORD + places - 1n) / places)];
      const [inner, outer] = [ends(near, BigInt(window)), ends(far, BigInt(others))];
      if (window > 1) return ratioIn([...inner, ...outer]);
      return largest([ratio(inner[1], outer[0]), ratio(outer[1], inner[0]), ...(others > 1 ? [ratioIn(outer)] : [])]);
    };
    return { outputs: window + others, words: 2, draw, law, gamma };
  },

  table({ tables }, inputs, outputs) {
    const alias = readAlias(list(tables, "tables", inputs));
    const beyond = tables.some((_, code) => alias.weights(code).some((weight, next) => weight && next >= outputs));
    if (beyond) damaged("a table leads beyond the outputs");
    const draw = (code, words, at) => alias.draw(words[at], words[at + 1], code);
    const law = (as) => (code, tell) => alias.weights(code).forEach((weight, next) => weight && tell(next, as(weight)));
    return { words: 1, draw, law, gamma: () => gammaOfRows([{ inputs, outputs, law }], BigInt) };
  },

  map({ codes }, inputs, outputs) {
    wholes(codes, 0, outputs - 1, "codes", inputs);
    const gamma = () => (new Set(codes).size === 1 ? ONE : null);
    return { words: 0, draw: (code) => codes[code], law: toCodes(codes), gamma };
  },

  spread({ starts }, inputs, outputs) {
    wholes(starts, 0, outputs - 1, "starts");
    const rising = starts[0] === 0 && starts.every((start, i) => !(start <= starts[i - 1]));
    if (outputs !== inputs || !rising) damaged("starts do not fit");
    const sizes = starts.map((start, i) => (starts[i + 1] ?? outputs) - start);
    const runs = starts.flatMap((_, i) => new Array(sizes[i]).fill(i));
    const draw = (code, words, at) => starts[runs[code]] + below(words[at], words[at + 1], sizes[runs[code]]);
    const law = (as) => (code, tell) =>
      wordsBelow(sizes[runs[code]]).forEach((count, place) => tell(starts[runs[code]] + place, as(count)));
    return { words: 1, draw, law, gamma: () => (starts.length === 1 ? ONE : null), runs };
  },
};

const toCodes = (codes) => (as) => (code, tell) => tell(codes[code], as(1n));

function readStep(step, inputs) {
  if (!Object.hasOwn(STEPS, step?.step)) damaged("a step is unknown");
  const outputs = step.step === "window" ? 0 : whole(step.outputs, 1, MOST_CODES, "outputs");
  const found = { inputs, outputs, ...STEPS[step.step](step, inputs, outputs) };
  whole(found.outputs, 1, MOST_CODES, "outputs");
  return { ...found, gamma: once(found.gamma) };
}

const wordsOf = (steps) => steps.reduce((sum, step) => sum + step.words, 0);

function run(steps, code, words) {
  let at = 0;
  for (const step of steps) {
    code = step.draw(code, words, at);
    at += 2 * step.words;
  }
  return code;
}

// --- programs ---

/** How values become codes and codes values; `labels` are the domain's, undefined where it has numbers. */
function readSpace(space, labels) {
  const size = whole(space?.size, 1, MOST_CODES, "size");
  if (labels) {
    const own = checkLabels(space.labels ?? labels, size);
    const codes = new Map(own.map((label, code) => [label, code]));
    return { size, code: (label) => codes.get(label), value: (code) => own[code], holds: (report) => codes.has(report) };
  }
  const holds = (report) => typeof report === "number";
  const per = whole(space.per, 1, LARGEST, "per");
  if (space.edges) {
    const edges = wholes(space.edges, -LARGEST, LARGEST, "edges", size + 1).map((edge) => edge / per);
    const code = (x) => edges.slice(1, -1).reduce((count, edge) => count + (edge <= x), 0);
    return { size, code, value: (place) => (edges[place] + edges[place + 1]) / 2, holds };
  }
  const [first, stride] = [whole(space.first, -LARGEST, LARGEST, "first"), whole(space.stride, 1, LARGEST, "stride")];
  const code = (x) => {
    const place = Math.min(Math.max((x * per - first) / stride, 0), size - 1);
    const floor = Math.floor(place);
    return floor + ((place - floor > 0.5) | ((place - floor === 0.5) & floor)); // halves to the even code
  };
  return { size, code, value: (place) => (first + stride * place) / per, holds };
}

/** A program of one value: its first `permanent` steps draw what is remembered, the others what is sent of it. */
export function readProgram(program, labels) {
  const [read, write] = [readSpace(program.read, labels), readSpace(program.write, labels)];
  const steps = [];
  const sizeAfter = (count) => steps[count - 1]?.outputs ?? read.size;
  list(program.steps, "steps").forEach((step, i) => steps.push(readStep(step, sizeAfter(i))));
  const kept = whole(program.permanent ?? steps.length, 0, steps.length, "permanent");
  const [first, later] = [steps.slice(0, kept), steps.slice(kept)];
  const between = program.permanent === undefined ? write : readSpace(program.remembered, labels);
  const fits = between.size === sizeAfter(kept) && write.size === sizeAfter(steps.length);
  if (!fits || program.words !== wordsOf(steps)) damaged("its parts do not fit");
  const { inside, ...shared } = program.steps[0] ?? {}; // windows share one draw at every γ
  const alone = kept === 1 && shared.step === "window";
  return {
    read, write,
    noise: { read: program.read, steps: alone ? [shared] : program.steps.slice(0, kept) },
    draw: (code, words) => run(steps, code, words),
    words: () => wordsOf(first),
    code: read.code,
    remember: (value, words) => between.value(run(first, read.code(value), words)),
    again: (report, fresh) => write.value(run(later, between.code(report), fresh(wordsOf(later)))),
    carries: between.holds,
    gamma: once(() => reduced(gammaOf(read.size, first))),
  };
}

/** Several numbers at once: the noise of a column lies around a mixture of those before it. */
export function readColumns(program, names) {
  const columns = list(program.columns, "columns", names.length).map((column, j) => ({
    ...readSpace(column),
    noise: readAlias([column.noise]),
    offset: whole(column.offset, 0, 2 * MOST_CODES, "offset"),
    weights: wholes(column.weights, -LARGEST, LARGEST, "weights", j),
  }));
  if (program.words !== 2 * names.length) damaged("its parts do not fit");
  const codes = (row) => columns.map((column, j) => column.code(row[names[j]]));
  const draw = (row, words) => {
    const steps = [];
    columns.forEach(({ noise, offset, weights }, j) => {
      const step = noise.draw(words[4 * j], words[4 * j + 1]) - offset + mixture(weights, steps, words[4 * j + 2]);
      steps.push(whole(step, -MOST_CODES, MOST_CODES, "a sum of weights"));
    });
    return row.map((code, j) => code + steps[j]);
  };
  return {
    draw,
    words: () => program.words,
    code: (row) => blake2b8(codes(row)),
    remember: (row, words) =>
      Object.fromEntries(draw(codes(row), words).map((code, j) => [names[j], columns[j].value(code)])),
    again: (report) => report,
    carries: (report) => names.every((name) => typeof report[name] === "number"),
    gamma: () => null,
  };
}

/** ⌊(Σ weights · steps + rest) / 2^32⌋ in halves that no double rounds. */
function mixture(weights, steps, rest) {
  return weights.reduce((sum, weight, i) => {
    const high = Math.floor(weight / UNIT);
    rest += (weight - high * UNIT) * steps[i];
    const carried = Math.floor(rest / UNIT);
    rest -= carried * UNIT;
    return sum + high * steps[i] + carried;
  }, 0);
}

// --- γ: the largest ratio within a row of the law, {num, den}; null where it has no bound ---

const ONE = { num: 1n, den: 1n };

/** Of one step exactly, of several exactly where that is little work; else rounded up, never above any one step's. */
function gammaOf(size, steps) {
  if (!steps.length) return size > 1 ? null : ONE;
  if (steps.length === 1 || !wordsOf(steps)) return steps[0].gamma();
  const bounds = steps.map((step) => step.gamma()).filter(Boolean);
  const [runs, before] = [steps.at(-1).runs, steps.slice(0, -1)];
  const short = runs ? [...before, { inputs: runs.length, outputs: runs.at(-1) + 1, law: toCodes(runs) }] : steps; // the reports of a run have one ratio
  const area = ({ inputs, outputs }) => inputs * outputs;
  const work = steps.reduce((sum, step, i) => sum + area(steps[i - 1] ?? step) * step.outputs ** Math.sign(i), 0);
  const heavy = short.reduce((sum, step, i) => sum + (i && step.words ? size : 1) * area(step), 0) > MOST_WORK;
  const rough = heavy ? null : gammaOfRows(short, (weight) => Number(weight) / UNIT ** 3);
  if (!heavy && !rough && !bounds.length) return null;
  if (work <= EXACT_WORK) return gammaOfRows(short, BigInt);
  if (rough && Number.isFinite(rough.num / rough.den)) bounds.push(roundedUp(rough.num / rough.den));
  return bounds.reduce((least, each) => (least && least.num * each.den < each.num * least.den ? least : each), null);
}

/** γ of steps one after the other, in whole numbers or doubles. */
function gammaOfRows([first, ...others], as) {
  const zeros = (step) => Array.from({ length: step.outputs }, () => new Array(first.inputs).fill(as(0n)));
  let rows = zeros(first);
  const start = first.law(as);
  for (let code = 0; code < first.inputs; code++) start(code, (next, share) => (rows[next][code] += share));
  for (const step of others) {
    const [law, after] = [step.law(as), zeros(step)];
    rows.forEach((row, between) =>
      law(between, (next, share) => {
        const sum = after[next];
        for (let code = 0; code < row.length; code++) sum[code] += share * row[code];
      }),
    );
    rows = after;
  }
  return largest(rows.map(ratioIn));
}

/** most/least; undefined for a report that never occurs, null where only some values rule it out. */
const ratio = (most, least) => (least ? { num: most, den: least } : most ? null : undefined);

const larger = (a, b) => (a > b ? a : b);
const smaller = (a, b) => (a < b ? a : b);
const ratioIn = (row) => ratio(row.reduce(larger), row.reduce(smaller));

export function largest(ratios) {
  let found;
  for (const each of ratios) {
    if (each === null) return null;
    if (each && !(found && each.num * found.den <= found.num * each.den)) found = each;
  }
  return found ?? ONE;
}

/** The best of every `width` neighbours, from the best so far within blocks of that width, forwards and backwards. */
function sliding(values, width, best) {
  const [fore, back] = [[...values], [...values]];
  for (let i = 1; i < values.length; i++) if (i % width) fore[i] = best(fore[i - 1], fore[i]);
  for (let i = values.length - 2; i >= 0; i--) if ((i + 1) % width) back[i] = best(back[i], back[i + 1]);
  return back.slice(0, values.length + 1 - width).map((each, i) => best(each, fore[i + width - 1]));
}

/** A double as a fraction, a billionth above it. */
function roundedUp(number) {
  let den = 10n ** 9n;
  for (; !Number.isInteger(number); number *= 2) den *= 2n;
  return { num: BigInt(number) * (10n ** 9n + 1n), den };
}

export function reduced(gamma) {
  if (!gamma) return gamma;
  let [a, b] = [gamma.num, gamma.den];
  while (b) [a, b] = [b, a % b];
  return { num: gamma.num / a, den: gamma.den / a };
}
