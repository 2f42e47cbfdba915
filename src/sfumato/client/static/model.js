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
    const { form, classes, reads } = device;
    if (!classes || !Object.hasOwn(FORMS, form)) refuse("it has no classes, or an unknown form");
    const data = form === "joint" ? model.estimator ?? model : device;
    const decide = FORMS[form](data, list(reads, isQuestion), placesOf(classes).size);
    return { reads, classes, decide };
  } catch (error) {
    const why = { Error: error.message, SyntaxError: "it is not a whole JSON file" }[error.name] ?? DAMAGED;
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
  const shares = classes.map((label, y) => [label, weights[y] / added(weights)]);
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
  if (labels && !placesOf(labels).has(keyOf(value))) bad("none of the categories; give one of them");
  if (low === undefined) return value;
  if (typeof value !== "number") bad("not a number; give one");
  const inside = Math.min(Math.max(value, low), high);
  if (outside !== "clamp" && inside !== value) bad(`outside ${low} to ${high}; correct it`);
  return integer && !Number.isInteger(inside) ? bad("not whole; round it") : inside;
}

/** place(value) in a column: of its label or cell, or the number itself (size 0); null where it is missing. */
function readColumn({ labels, edges }) {
  const places = labels && placesOf(labels);
  const inner = edges && list(edges, (edge, i) => isNumber(edge) && !(edge < edges[i - 1])).slice(1, -1);
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

function readTree({ columns, nodes }, reads, classes) {
  const isTest = ({ counts, column, cut, left, right, said }, place) =>
    !counts && isWhole(0, reads.length - 1)(column) && (isNumber(cut) || Array.isArray(cut)) && isRow(3)(said) &&
    [left, right].every(isWhole(place + 1, nodes.length - 1)); // so that every way ends
  const isLeaf = ({ counts }) => isRow(classes, isMass)(counts);
  list(nodes, (node, place) => isLeaf(node) || isTest(node, place));
  const places = list(columns, isAny, reads.length).map((column) => readColumn(column).place);
  return (answers) => {
    const values = places.map((place, j) => place(answers[j]));
    const rule = new Map();
    let node = nodes[0];
    while (!node.counts) {
      const { column, cut, left, right, missing_left, said } = node;
      const value = values[column];
      const goesLeft = value === null ? missing_left : cut.includes?.(value) ?? value < cut;
      rule.set(column, said[value === null ? 2 : goesLeft ? 0 : 1]);
      node = nodes[goesLeft ? left : right];
    }
    return { scores: node.counts, rule: [...rule.values()] };
  };
}

function readSum({ start, terms }, reads, classes) {
  list(start, isNumber, classes);
  const isTerm = ({ column }) => isWhole(0, reads.length - 1)(column);
  const addends = list(terms, isTerm).map((term) => readTerm(term, classes));
  return (answers) => {
    const scores = start.map((from, y) => addends.reduce((sum, addend) => sum + addend(answers, y), from));
    return { scores, weights: scores.map((score) => Math.exp(score - Math.max(...scores))) };
  };
}

/** What a column adds to the score of class y: by label or cell, or peak − curve · (x − mean)² + slope · x. */
function readTerm(term, classes) {
  const { column, missing, scores, peak, curve, mean, slope } = term;
  const { size, place } = readColumn(term);
  if (size) list(scores, isRow(classes, isNumber), size);
  for (const each of size ? [missing] : [missing, peak, curve, mean, slope]) list(each, isNumber, classes);
  return (answers, y) => {
    const at = place(answers[column]);
    if (at === null) return missing[y];
    return size ? scores[at][y] : peak[y] - curve[y] * ((at - mean[y]) * (at - mean[y])) + slope[y] * at;
  };
}

/** P(y | x), averaged over members; a missing value integrates out. */
function readJoint({ selected, members }, reads, classes) {
  list(selected, isWhole(0, reads.length - 1), selected.length);
  const joints = list(members).map((member) => {
    const cells = list(member.cells, isAny, selected.length).map(readColumn);
    const joint = (member.form === "grid" ? readGrid : readMixture)(member, cells.map(({ size }) => size), classes);
    return (answers) => joint(cells.map(({ place }, i) => place(answers[selected[i]]))).map((mass) => mass + 1e-300);
  });
  return (answers) => {
    const masses = joints.map((joint) => joint(answers));
    const share = (y) => added(masses.map((mass) => mass[y] / added(mass))) / masses.length;
    return { scores: range(classes).map(share) };
  };
}

/** P(y, x) as one array, in single precision. */
function readGrid({ joint }, sizes, classes) {
  const masses = Float32Array.from(list(joint, isMass, sizes.reduce((product, size) => product * size, classes)));
  const within = (start, places) => sizes.reduce((starts, size, i) => starts.flatMap((from) =>
    (places[i] === null ? range(size) : [places[i]]).map((cell) => from * size + cell)), [start]);
  return (places) => range(classes).map((y) => added(within(y, places).map((index) => masses[index])));
}

/** P(y, x) = Σ_z weight_z · P(y | z) · Π_j θ_j(x_j | z). */
function readMixture({ weights, p_class, thetas }, sizes, classes) {
  const isShares = isRow(list(weights, isMass).length, isMass);
  list(p_class, isShares, classes);
  list(thetas, (theta, i) => isRow(sizes[i], isShares)(theta), sizes.length);
  return (places) => {
    const known = thetas.flatMap((theta, i) => (places[i] === null ? [] : [theta[places[i]]]));
    const mass = weights.map((weight, z) => known.reduce((product, theta) => product * theta[z], weight));
    return p_class.map((share) => added(mass.map((part, z) => part * share[z])));
  };
}

// --- data that nobody vouches for ---

function refuse(why) {
  throw new Error(why);
}

const DAMAGED = "it is damaged";
const isAny = () => true;
const isNumber = Number.isFinite;
const isMass = (each) => isNumber(each) && each >= 0;
const isWhole = (low, high) => (each) => Number.isInteger(each) && each >= low && each <= high;
const isRow = (size, isGood = isAny) => (row) => Array.isArray(row) && row.length === size && row.every(isGood);

/** The list itself, of one entry or more (or of a size), each as it must be. */
function list(found, isGood, size = found?.length || 1) {
  return isRow(size, isGood)(found) ? found : refuse(DAMAGED);
}

const keyOf = (label) => (typeof label === "boolean" ? Number(label) : label); // true and 1 are one label in Python

/** The place of each label; every one is there once. */
function placesOf(labels) {
  const isLabel = (label) => ["string", "number", "boolean"].includes(typeof label);
  const places = new Map(list(labels, isLabel).map((label, place) => [keyOf(label), place]));
  return places.size === labels.length ? places : refuse("a label is there twice");
}
