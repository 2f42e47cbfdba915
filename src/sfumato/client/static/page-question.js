// A question: its fields, the level that the person chooses, and what its report can reveal.

import { isMissing } from "./domain.js";
import { allOf, byId, fill, make, makeChoice } from "./page-elements.js";
import { digits, recall, sentence } from "./page-state.js";

/**
 * @import { Label } from "./documents.js"
 * @import { Destination, Page, QuestionInput } from "./page-state.js"
 * @import { Question } from "./sfumato.js"
 */

const SEARCHED = 8; // a longer list can be searched; by judgement: so many lines are read at a glance

/** Show the fields of the question at this step. @param {Page} page */
export async function showQuestion(page) {
  const question = page.questions[page.step - 1];
  const { name, domain, mechanism } = question;
  const input = domain.items || domain.categories ? choicesOf(page, question) : numbersOf(page, question);
  page.input = input;
  const place = sentence(page, "place", { place: page.step, count: page.questions.length });
  const legend = make("legend", make("small", place), make("h2", question.question || name));
  const note = make("p.soft", { id: "stays" }, mechanism && sentence(page, "stays"));
  fill("asked", legend, ...input.elements, note);
  for (const field of allOf("#asked input")) field.setAttribute("aria-describedby", "stays trouble");
  if (question.default) await showLevels(page, question);
  else fill("level");
  describeLevel(page, question);
}

/**
 * Keep the answer in the fields, and go on; a missing or wrong one is refused.
 * @param {Page} page
 * @returns {Promise<Destination>}
 */
export async function takeAnswer(page) {
  const question = page.questions[page.step - 1];
  const answers = checkedAnswers(page, question);
  if (Object.values(answers).some(isMissing)) {
    throw new Error(sentence(page, question.missing === "refuse" ? "error.needed" : "error.empty"));
  }
  return keepAnswers(page, answers);
}

/**
 * Leave the question unanswered, and go on.
 * @param {Page} page
 */
export async function skipQuestion(page) {
  return keepAnswers(page, {});
}

/**
 * Keep the answers to the question at this step, null where one is missing, and go on.
 * @param {Page} page
 * @param {Record<string, any>} answers
 * @returns {Destination}
 */
function keepAnswers(page, answers) {
  for (const column of page.questions[page.step - 1].columns) page.answers[column] = answers[column] ?? null;
  return { step: page.step + 1 };
}

/**
 * Return the answers in the fields, if they are valid.
 * @param {Page} page
 * @param {Question} question
 */
function checkedAnswers(page, { name, domain, blur, outside }) {
  const { input } = page;
  if (!input) return {};
  try {
    const answers = input.read();
    blur.value(domain.columns ? answers : answers[name], { outside, missing: "pass" });
    return answers;
  } catch (error) {
    throw new Error(sentence(page, "error.wrong", { hint: input.hint() }), { cause: error });
  }
}

/**
 * Make a field for each number of a question.
 * @param {Page} page
 * @param {Question} question
 * @returns {QuestionInput}
 */
function numbersOf(page, { name, domain, outside }) {
  const columns = Object.entries(domain.columns ?? { [name]: domain });
  const parts = columns.map(([column, { low = NaN, high = NaN, integer }]) => {
    const ends = { low: digits(page, low), high: digits(page, high) };
    const hint = sentence(page, integer ? "range.whole" : "range", ends);
    const clamps = outside === "clamp" && sentence(page, "range.clamp", ends);
    const label = domain.columns ? column : sentence(page, "answer");
    const value = page.answers[column] ?? "";
    const range = { min: low, max: high, step: integer ? 1 : "any" };
    const field = make("input", { type: "number", name: column, ...range, value });
    return { hint, field, element: make("label", label, make("small", hint, " ", clamps), field) };
  });
  const fields = parts.map(({ field }) => /** @type {HTMLInputElement} */ (field));
  return {
    elements: parts.map(({ element }) => element),
    hint: () => parts.map(({ hint }) => hint).join(""),
    read: () => Object.fromEntries(fields.map((field) => [field.name, field.valueAsNumber])),
  };
}

/**
 * Make a line for each category, or for each item of a basket.
 * @param {Page} page
 * @param {Question} question
 * @returns {QuestionInput}
 */
function choicesOf(page, { name, domain: { categories, items }, program }) {
  const isBasket = items !== undefined;
  /** @type {Label[]} */
  const labels = categories ?? (typeof items === "number" ? [...new Array(items).keys()] : (items ?? []));
  const sizes = program && "sizes" in program ? program.sizes.map(({ size }) => size) : [];
  const before = [page.answers[name]].flat();
  const rows = labels.map((label) => {
    const properties = { type: isBasket ? "checkbox" : "radio", name: "answer", checked: before.includes(label) };
    return makeChoice(properties, `${label}`);
  });
  const chosen = () => labels.filter((_, i) => isChecked(rows[i]));
  const hint = () => {
    return isBasket ? sentence(page, "sizes", { sizes: sizes.join(", "), count: chosen().length }) : "";
  };

  const tally = make("p.soft", { role: "status" });
  const updateTally = () => {
    tally.textContent = hint();
  };
  updateTally();

  return {
    elements: [
      tally,
      labels.length > SEARCHED && searchOf(page, rows),
      make("div.items", { onchange: updateTally }, rows),
    ],
    hint,
    read() {
      const answer = chosen();
      if (!isBasket) return { [name]: answer[0] };
      if (answer.length && !sizes.includes(answer.length)) throw new Error(hint());
      return { [name]: answer.length ? answer : undefined };
    },
  };
}

/** Whether a line is chosen. @param {HTMLElement} row */
const isChecked = (row) => /** @type {HTMLInputElement} */ (row.firstChild).checked;

/**
 * Make a field that hides the lines without its text, but never one that is chosen.
 * @param {Page} page
 * @param {HTMLElement[]} rows
 */
function searchOf(page, rows) {
  /** @param {{ target: HTMLInputElement }} event */
  const oninput = ({ target }) => {
    const text = target.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !isChecked(row) && !row.textContent.toLowerCase().includes(text);
  };
  return make("label", sentence(page, "find"), make("input", { type: "search", oninput }));
}

/**
 * Show the levels to choose from; locked at the level of an earlier report to the same collector.
 * @param {Page} page
 * @param {Question} question
 */
async function showLevels(page, question) {
  const { name, levels } = question;
  const { ledger } = await recall(page);
  const reports = ledger.reportsOf(page.collector, name);
  const locked = reports.find(({ level }) => level !== null && levels[level])?.level;
  page.levels[name] = locked ?? page.levels[name] ?? question.default;
  const choices = Object.entries(levels).map(([level, { words }]) => {
    const onchange = () => {
      page.levels[name] = level;
      describeLevel(page, question);
    };
    const properties = { type: "radio", name: "level", checked: level === page.levels[name], onchange };
    return makeChoice(properties, level, make("small", words.usual || words.worst));
  });
  const note = locked && make("p.note", sentence(page, "level.locked", { level: locked }));
  /** @type {HTMLFieldSetElement} */ (byId("level")).disabled = Boolean(locked);
  fill("level", make("legend", sentence(page, "level")), note, choices);
}

/**
 * Show what is sent and what it reveals, at the level that is chosen.
 * @param {Page} page
 * @param {Question} question
 */
function describeLevel(page, { name, levels }) {
  const level = page.levels[name] ?? "";
  const { words } = levels[level];
  /** @type {(keyof typeof words)[]} */
  const parts = level ? ["sent", "worst", "visible"] : ["sent", "usual", "worst", "visible"]; // choices show the usual
  const paragraphs = parts.map((part) => {
    return words[part] && make("p", make("small", sentence(page, `told.${part}`)), words[part]);
  });
  fill("told", paragraphs);
}
