// A person's answers as one report. A report that was sent once is sent again as it was: asking again reveals no more.

import { refuse } from "./checks.js";
import { canonical, hex, hmac, sha256 } from "./hashes.js";
import { Ledger, sameName } from "./ledger.js";
import { asks } from "./survey.js";

/**
 * @import { Answer, Options, Question, Receipt, Reply, Survey, Told } from "./sfumato.js"
 */

/** @type {typeof import("./sfumato.js").answer} */
export async function answer(survey, answers, { ledger = new Ledger(), ...options } = /** @type {any} */ ({})) {
  const own = /** @type {Ledger} */ (ledger);
  return own.inTurn(() => answerNow(survey, answers, own, options));
}

/**
 * Find or draw the report of every question, and remember them in the ledger.
 * @param {Survey} survey
 * @param {Record<string, Answer>} answers
 * @param {Ledger} ledger
 * @param {Omit<Options, "ledger">} options
 * @returns {Promise<Reply>}
 */
async function answerNow(survey, answers, ledger, options) {
  const collector = `${options.collector ?? ""}`.trim();
  if (!collector) refuse("The collector is empty; say who receives the reports.");
  for (const column of Object.keys(answers)) {
    if (!Object.hasOwn(survey.blank, column)) refuse(`${column} is no question of this survey; drop it.`);
  }
  const { secret, levels } = options;
  const today = options.today ?? new Date().toLocaleDateString("sv"); // Sweden writes 2026-05-12
  const common = { collector, survey: survey.name };
  const entries = [...ledger.told];
  const told = [];
  const report = { ...survey.blank };
  let isFresh = false; // whether a part is drawn anew at every round

  for (const question of await asks(survey, { secret, collector })) {
    const { name, columns, domain, blur, default: usual } = question;
    const level = usual && (levels?.[name] ?? answers[`${name}.level`] ?? usual);
    const entry = await entryOf(question, { answers, entries, secret, common, level, today }).catch((error) => {
      return refuse(`${name}: ${error.message}`);
    });
    told.push(entry);
    if (!entries.includes(entry)) entries.push(entry);
    const sent = blur.again(entry.report, { level: usual && entry.level });
    for (const column of columns) report[column] = domain.columns && sent ? /** @type {any} */ (sent)[column] : sent;
    if (usual) report[`${name}.level`] = entry.level;
    if (sent !== null && isAskedInRounds(question, entry)) isFresh = true;
  }

  const receipt = await receiptOf(report, { ledger, secret, common, plan: survey.plan, today, isFresh });
  const newReceipts = ledger.receipts.includes(receipt) ? [] : [receipt];
  await ledger.add(entries.slice(ledger.told.length), newReceipts, survey.words);
  return { plan: survey.plan, id: receipt.id, report, told };
}

/**
 * Hash a text under the secret into 32 hexadecimal digits, which only this device can make.
 * @param {Uint8Array} secret
 * @param {"mark" | "id"} purpose
 * @param {string} text
 */
async function keyedName(secret, purpose, text) {
  return hex(await hmac(secret, `sfumato/1/${purpose}\0${text}`)).slice(0, 32);
}

/**
 * Find the entry of the ledger that has this answer, or draw a new one.
 * @param {Question} question
 * @param {{ answers: Record<string, Answer>, entries: Told[], secret: Uint8Array, level: any, today: string,
 *   common: { collector: string, survey: string } }} asked
 * @returns {Promise<Told>}
 */
async function entryOf(question, { answers, entries, secret, common, level, today }) {
  const { name: attribute, domain, mechanism, blur } = question;
  const name = sameName(attribute);
  const { collector } = common;
  const value = blur.value(domain.columns ? answers : answers[attribute], question);
  const mark = await keyedName(secret, "mark", await sha256(canonical([name, value])));
  const before = entries.find((entry) => entry.collector === collector && isSameAnswer(question, entry, mark));
  if (before) return before;
  const report = await blur.draw(value, { level, secret, question: JSON.stringify([collector, name]) });
  const gamma = report === null ? "1" : question.levels[level ?? ""].gamma;
  return { ...common, attribute, domain, mechanism, level, mark, report, gamma, day: today };
}

/**
 * Return whether an entry can be sent as the answer here; a seed or a row only by the mechanism that drew it.
 * @param {Question} question
 * @param {Told} entry
 * @param {string} mark
 */
function isSameAnswer({ blur, domain, mechanism, default: usual }, entry, mark) {
  const isSeed = /** @type {any} */ (entry.report)?.seed !== undefined;
  const isBlurred = entry.mechanism && mechanism;
  const fits = entry.mechanism === mechanism || (isBlurred && !domain.columns && !isSeed);
  if (!fits || entry.mark !== mark || canonical(entry.domain) !== canonical(domain)) return false;
  return blur.carries(entry.report, usual && `${entry.level}`);
}

/** Return whether the answer is blurred afresh at every round. @param {Question} question @param {Told} entry */
function isAskedInRounds({ program }, { level }) {
  if (!program) return false;
  const ofLevel = "levels" in program ? program.levels[level ?? ""] : program;
  return "permanent" in (ofLevel ?? program);
}

/**
 * Find the receipt of an equal report that was sent before, or make a new one.
 * @param {Reply["report"]} report
 * @param {{ ledger: Ledger, secret: Uint8Array, common: { collector: string, survey: string }, plan: string,
 *   today: string, isFresh: boolean }} sending
 * @returns {Promise<Receipt>}
 */
async function receiptOf(report, { ledger, secret, common, plan, today, isFresh }) {
  const digest = (await sha256(canonical(report))).slice(0, 32);
  const before = ledger.receipts.filter((receipt) => {
    return receipt.collector === common.collector && receipt.plan === plan;
  });
  const same = !isFresh && before.find((receipt) => receipt.digest === digest);
  if (same) return same;
  const id = await keyedName(secret, "id", JSON.stringify([common.collector, plan, before.length]));
  return { ...common, plan, id, digest, day: today };
}
