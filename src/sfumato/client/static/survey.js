// A survey as a device reads it: identities are computed anew, and what is damaged or newer is refused.

import { areTexts, checkVersion, isWhole, need, refuse, sentenceOf } from "./checks.js";
import { readDomain } from "./domain.js";
import { readGamma } from "./fractions.js";
import { canonical, sha256 } from "./hashes.js";
import { readMechanism } from "./mechanism.js";
import { keyedWords } from "./words.js";

/**
 * @import { Domain, QuestionDocument, SurveyDocument } from "./documents.js"
 * @import { Mechanism, Question, Sent, Survey } from "./sfumato.js"
 */

const NEWEST = 2; // the newest version of a survey document that this device reads (docs/survey.md)

/** @type {typeof import("./sfumato.js").readSurvey} */
export async function readSurvey(document) {
  try {
    return await read(/** @type {SurveyDocument} */ (document));
  } catch (error) {
    return refuse(sentenceOf(error, "survey"));
  }
}

/**
 * Read a survey document: check its version, its questions and its identity.
 * @param {SurveyDocument} document
 * @returns {Promise<Survey>}
 */
async function read(document) {
  const { survey, plan, name, language, together, words, questions_each } = document;
  checkVersion(survey, "survey", NEWEST);
  need(areTexts([name, language, together, Object.values(words)].flat()), "survey");
  const questions = await Promise.all(document.questions.map(readQuestion));
  const drawn = questions_each ? questions.filter(({ role }) => role === "attribute") : [];
  need((survey === 2) === isWhole(questions_each, 1, drawn.length - 1), "survey");
  need(plan === (await planIdentity(document)), "survey");
  return { ...document, questions, drawn, blank: blankReport(questions) };
}

/** Compute the plan's identity, the hash of its questions. @param {SurveyDocument} document */
function planIdentity({ name, questions, questions_each }) {
  const attributes = questions.map(({ name, domain, mechanism, missing, outside, role, question }) => {
    return { name, domain, channel: mechanism, missing, outside, role, question };
  });
  return sha256(canonical({ name, ...(questions_each && { questions_each }), attributes }));
}

/**
 * Make the report of somebody who answers nothing; its columns are in the order of every report.
 * @param {Question[]} questions
 */
function blankReport(questions) {
  /** @type {Record<string, Sent>} */
  const blank = {};
  for (const { name, columns, default: level } of questions) {
    for (const column of columns) blank[column] = null;
    if (level) blank[`${name}.level`] = level;
  }
  return blank;
}

/**
 * Read a question: what it states (identity, columns, levels, γ) must be what its program gives.
 * @param {QuestionDocument} question
 * @returns {Promise<Question>}
 */
async function readQuestion(question) {
  const { name, domain, program, mechanism, columns, levels } = question ?? {};
  try {
    const blur = program === null ? sentInTheClear(domain) : await readMechanism(domain, program);
    const columnsOfDomain = Object.keys(domain.columns ?? { [name]: domain });
    const computed = [blur.identity, blur.default || null, columnsOfDomain, [...blur.levels].sort()];
    const stated = [mechanism, question.default, columns, Object.keys(levels).sort()];
    need(canonical(computed) === canonical(stated), "survey");
    for (const { gamma, words } of Object.values(levels)) {
      readGamma(gamma); // refuses
      need(areTexts(Object.values(words)), "survey");
    }
    return { ...question, blur };
  } catch (error) {
    return refuse(`${name}: ${sentenceOf(error, "survey")}`);
  }
}

/**
 * Make the mechanism of a question whose answers are sent as they are.
 * @param {Domain} domain
 * @returns {Mechanism}
 */
function sentInTheClear(domain) {
  return {
    identity: null,
    levels: [""],
    default: "",
    value: readDomain(domain).value,
    carries: () => true,
    draw: async (answer) => /** @type {any} */ (answer),
    again: (report) => report,
  };
}

/** @type {typeof import("./sfumato.js").asks} */
export async function asks({ plan, questions, questions_each, drawn }, { secret, collector }) {
  const words = await keyedWords(secret, JSON.stringify([collector.trim(), plan, "asked"]), 0, drawn.length);
  const inRandomOrder = drawn
    .map((question, i) => ({ question, high: words[2 * i], low: words[2 * i + 1] }))
    .sort((a, b) => a.high - b.high || a.low - b.low);
  const left = inRandomOrder.slice(questions_each).map(({ question }) => question);
  return questions.filter((question) => !left.includes(question));
}
