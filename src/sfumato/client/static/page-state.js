// The state of the page while it is open. True answers are only here; they never go into the device's memory.

import { Ledger } from "./ledger.js";

/**
 * @import { Answer, Question, Reply, Survey, Voice } from "./sfumato.js"
 * @import { Device, Memory } from "./memory.js"
 * @import { openOutbox } from "./outbox.js"
 */

/**
 * The state of the page.
 * @typedef {object} Page
 * @property {Survey} survey
 * @property {Voice} say the sentences of the survey's language
 * @property {string} collector the origin of the address that reports are sent to
 * @property {string | null} submit that address; null: reports are saved as files
 * @property {string | undefined} invitation the code in the page's own address, which is sent with the report
 * @property {Memory} memory
 * @property {ReturnType<typeof openOutbox>} outbox
 * @property {Promise<Classify> | null} model the model that the survey sends to devices
 * @property {Question[]} questions those that this device answers
 * @property {number} step 0: the start; then one for each question; then the summary and the receipt
 * @property {Record<string, Answer>} answers true answers, by column; a question that was shown has one, if only null
 * @property {Record<string, string>} levels how much the person wants to hide, by question
 * @property {QuestionInput | null} input the fields of the question that is shown
 * @property {Ready | null} ready what is sent if the person agrees
 */

/**
 * Predicts the class of a person by true answers, with the rule that decided.
 * @typedef {(answers: Record<string, Answer>) => ReturnType<typeof import("./sfumato.js").predict>} Classify
 */

/**
 * The fields of a question: their elements, a reader of their content, and a hint at what may be answered.
 * @typedef {object} QuestionInput
 * @property {import("./page-elements.js").Content[]} elements
 * @property {() => Record<string, any>} read the answers by column, undefined or NaN where there is none
 * @property {() => string} hint
 */

/**
 * A report that was drawn, and the texts of the ledger without it and with it.
 * @typedef {Reply & { invitation: string | undefined, before: string, after: string }} Ready
 */

/**
 * The step to which the page goes, and the trouble that it shows there.
 * @typedef {{ step: number, trouble?: string }} Destination
 */

/**
 * Return a sentence of the page in the survey's language.
 * @param {Page} page
 * @param {string} name
 * @param {Record<string, unknown>} [parts]
 */
export function sentence({ say, collector }, name, parts) {
  return say(`device.${name}`, { whom: collector, ...parts });
}

/**
 * Write a number as the survey's language does, with all its digits.
 * @param {Page} page
 * @param {number} number
 */
export function digits({ survey }, number) {
  return number.toLocaleString(survey.language, { maximumFractionDigits: 20 });
}

/**
 * Read the device as it is kept now: another tab may have changed it.
 * @param {Page} page
 * @returns {Promise<Omit<Device, "ledger"> & { ledgerText: string, ledger: Ledger }>}
 */
export async function recall({ memory }) {
  const { ledger: ledgerText, ...device } = await memory.change((kept) => kept);
  return { ...device, ledgerText, ledger: Ledger.loads(ledgerText) };
}
