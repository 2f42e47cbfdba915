/**
 * Shipped models, applied to one person's true answers. Every index and shape is checked before use, and sums run in
 * Python's order, so that both name the same class. shipping/forms.py has the formulas.
 */

/** A model from the JSON (text or data) that `sfumato train` wrote; throws an Error of one sentence if it is none. */
export function readModel(json) {
  try {
    const { format, version, device, model } = typeof json === "string" ? JSON.parse(json) : json;
    if (format !== "sfumato-model") refuse("it is not one of sfumato");
    if (version !== 1) refuse("its format has another version than 1");
    if (!device) refuse("it has no part for devices, save it again");
    const { form, classes } = device;
    if (!classes || !Object.hasOwn(FORMS, form)) refuse("it has no classes, or an unknown form");
    const reads = list(device, "reads", isQuestion);
    const data = form === "joint" ? model.estimator ?? model : device;
    return { reads, classes, decide: FORMS[form](data, reads, placesOf(classes).size) };
  } catch (error) {
    const why = error instanceof SyntaxError ? "it is not a whole JSON file" : error.message;
    return refuse(`this model cannot be read: ${why}; fetch it again, or update this page`);
  }
}

/**
 * The class of a person: {label, probabilities: {label: p}, rule: the conditions that decided, null if it is no tree}.
 * answers: {attribute: true value, or null where it is missing}; what the model does not read is left alone.
 */
export function predict({ reads, classes, decide }, answers) {
  const { scores, weights = scores, rule = null } = decide(reads.map((question) => taken(question, answers)));
  const winner = scores.reduce((best, score, y) => (score > scores[best] ? y : best), 0);
  const total = added(weights);
  const shares = classes.map((label, y) => [label, total > 0 ? weights[y] / total : 1 / classes.length]);
  return { label: classes[winner], probabilities: Object.fromEntries(shares), rule };
}

// --- answers ---

/** Whether it says how an answer is checked: among labels, or from low to high; without either any is taken. */
const isQuestion = ({ name, labels, low = 0, high = 0 }) =>
  typeof name === "string" && (labels === undefined || placesOf(labels)) && isNumber(low) && isNumber(high);

/** The checked answer, null where it is missing; no sentence prints it. */
function taken({ name, labels, low, high, integer, missing, outside }, answers) {
  const bad = (why) => refuse(`${name}: the answer is ${why}`);
  if (!Object.hasOwn(answers, name)) bad("not there; the model reads it");
  const value = answers[name] ?? null;
  if (value === null || Number.isNaN(value)) return missing === "refuse" ? bad("missing; give one") : null;
  if (labels && !labels.map(keyOf).includes(keyOf(value))) bad("none of the categories; give one of them");
  if (low === undefined) return value;
  if (typeof value !== "number") bad("not a number; give one");
  const inside = Math.min(Math.max(value, low), high);
  if (outside !== "clamp" && inside !== value) bad(`outside ${low} to ${high}; correct it`);
  return integer && !Number.isInteger(inside) ? bad("not whole; round it") : inside;
}

/** place(value) in a column: of its label or cell, or the number itself (size 0); null where it is missing. */
function readColumn({ labels, edges }) {
  const places = labels && placesOf(labels);
  const inner = edges && list({ edges }, "edges", (edge, i) => isNumber(edge) && !(edge < edges[i - 1])).slice(1, -1);
  const place = (value) => {
    if (places) return places.get(keyOf(value)) ?? null;
    return inner && value !== null ? inner.filter((edge) => edge <= value).length : value;
  };
  return { place, size: places?.size ?? (inner ? inner.length + 1 : 0) };
}

// --- the three forms ---

const FORMS = { tree: readTree, sum: readSum, joint: readJoint };
const added = (parts) => parts.reduce((sum, part) => sum + part, 0);
const range = (size) => [...Array(size).keys()];

function readTree(data, reads, classes) {
  const columns = sized(data, "columns", reads).map(readColumn);
  const isTest = ({ column, cut, left, right, said }, place) =>
    isWhole(0, reads.length - 1)(column) && (isNumber(cut) || Array.isArray(cut)) && isRow(3)(said) &&
    [left, right].every(isWhole(place + 1, data.nodes.length - 1)); // so that every way ends
  const isLeaf = ({ counts }) => isRow(classes, isMass)(counts);
  const nodes = list(data, "nodes", (node, place) => isLeaf(node) || (!node.counts && isTest(node, place)));
  return (answers) => {
    const places = columns.map(({ place }, j) => place(answers[j]));
    const rule = new Map();
    let node = nodes[0];
    while (!node.counts) {
      const { column, cut, left, right, missing_left, said } = node;
      const value = places[column];
      const goesLeft = value === null ? missing_left : cut.includes?.(value) ?? value < cut;
      rule.set(column, said[value === null ? 2 : goesLeft ? 0 : 1]);
      node = nodes[goesLeft ? left : right];
    }
    return { scores: node.counts, rule: [...rule.values()] };
  };
}

function readSum(data, reads, classes) {
  const start = list(data, "start", isNumber, classes);
  const terms = list(data, "terms").map((term) => readTerm(term, reads, classes));
  return (answers) => {
    const scores = start.map((from, y) => terms.reduce((sum, term) => sum + term(answers, y), from));
    return { scores, weights: scores.map((score) => Math.exp(score - Math.max(...scores))) };
  };
}

/** What a column adds to the score of class y: by label or cell, or peak − curve · (x − mean)² + slope · x. */
function readTerm(term, reads, classes) {
  const { size, place } = readColumn(term);
  if (!reads[term.column]) refuse("column is damaged");
  const missing = list(term, "missing", isNumber, classes);
  const scores = size && list(term, "scores", isRow(classes, isNumber), size);
  const shape = size || ["peak", "curve", "mean", "slope"].map((key) => list(term, key, isNumber, classes));
  return (answers, y) => {
    const at = place(answers[term.column]);
    if (at === null) return missing[y];
    if (size) return scores[at][y];
    const [peak, curve, mean, slope] = shape.map((each) => each[y]);
    return peak - curve * ((at - mean) * (at - mean)) + slope * at;
  };
}

/** P(y | x), averaged over members; a missing value integrates out. */
function readJoint(data, reads, classes) {
  const selected = list(data, "selected", isWhole(0, reads.length - 1), data.selected.length);
  const members = list(data, "members").map((member) => {
    const cells = sized(member, "cells", selected).map(readColumn);
    return { cells, joint: (member.form === "grid" ? readGrid : readMixture)(member, cells, classes) };
  });
  return (answers) => {
    const shares = members.map(({ cells, joint }) => {
      const mass = joint(cells.map(({ place }, i) => place(answers[selected[i]]))).map((part) => part + 1e-300);
      return mass.map((part) => part / added(mass));
    });
    return { scores: range(classes).map((y) => added(shares.map((share) => share[y])) / members.length) };
  };
}

/** P(y, x) as one array, in single precision. */
function readGrid(member, cells, classes) {
  const all = cells.reduce((product, { size }) => product * size, classes);
  const joint = Float32Array.from(list(member, "joint", isMass, all));
  const within = (start, places) => cells.reduce((starts, { size }, i) => starts.flatMap((from) =>
    (places[i] === null ? range(size) : [places[i]]).map((cell) => from * size + cell)), [start]);
  return (places) => range(classes).map((y) => added(within(y, places).map((index) => joint[index])));
}

/** P(y, x) = Σ_z weight_z · P(y | z) · Π_j θ_j(x_j | z). */
function readMixture(member, cells, classes) {
  const weights = list(member, "weights", isMass);
  const isShares = isRow(weights.length, isMass);
  const pClass = list(member, "p_class", isShares, classes);
  const thetas = list(member, "thetas", (theta, i) => isRow(cells[i].size, isShares)(theta), cells.length);
  return (places) => {
    const known = thetas.flatMap((theta, i) => (places[i] === null ? [] : [theta[places[i]]]));
    const mass = weights.map((weight, z) => known.reduce((product, theta) => product * theta[z], weight));
    return pClass.map((share) => added(mass.map((part, z) => part * share[z])));
  };
}

// --- data that nobody vouches for ---

function refuse(why) {
  throw new Error(why);
}

const isNumber = Number.isFinite;
const isMass = (each) => isNumber(each) && each >= 0;
const isWhole = (low, high) => (each) => Number.isInteger(each) && each >= low && each <= high;
const isRow = (size, isGood = () => true) => (row) => Array.isArray(row) && row.length === size && row.every(isGood);

/** The list under a key, of one entry or more (or of a size), each as it must be. */
function list(data, key, isGood, size = data[key]?.length || 1) {
  return isRow(size, isGood)(data[key]) ? data[key] : refuse(`${key} is damaged`);
}

const sized = (data, key, like) => list(data, key, undefined, like.length);

const keyOf = (label) => (typeof label === "boolean" ? Number(label) : label); // true and 1 are one label in Python

/** The place of each label; every one is there once. */
function placesOf(labels) {
  const isLabel = (label) => ["string", "number", "boolean"].includes(typeof label);
  const places = new Map(list({ labels }, "labels", isLabel).map((label, place) => [keyOf(label), place]));
  return places.size === labels.length ? places : refuse("a label is there twice");
}
