// The summary before anything leaves: the report beside the true answers, and what all reports then reveal.

import { answer } from "./answer.js";
import { LimitError } from "./ledger.js";
import { messageText } from "./outbox.js";
import { byId, download, fill, make, makeItems, showTrouble } from "./page-elements.js";
import { digits, recall, sentence } from "./page-state.js";

/**
 * @import { Domain } from "./documents.js"
 * @import { Message } from "./memory.js"
 * @import { Destination, Page, Ready } from "./page-state.js"
 */

/**
 * Draw the report, and show it. The ledger is changed here only in a copy: nothing is sent yet.
 * @param {Page} page
 */
export async function showSummary(page) {
  const { survey, collector, answers, levels, invitation } = page;
  const { secret, ledgerText, ledger } = await recall(page);
  const totals = () => makeItems(ledger.total(collector, survey.words).sentences);
  fill("sofar", totals());
  try {
    const reply = await answer(survey, answers, { secret, ledger, collector, levels });
    page.ready = { ...reply, invitation, before: ledgerText, after: ledger.dumps() };
    fill("rows", rowsOf(page, reply.report));
    byId("letters").textContent = messageText(page.ready);
    fill("with", totals());
  } catch (error) {
    const kind = error instanceof LimitError ? "refused" : "impossible";
    showTrouble(sentence(page, kind, { reason: /** @type {Error} */ (error).message }));
  }
  byId("made").hidden = !page.ready;
}

/**
 * Make a row of the table for each question: the true answer and what is sent.
 * @param {Page} page
 * @param {Ready["report"]} report
 */
function rowsOf(page, report) {
  return page.questions.map(({ name, question, columns, domain }) => {
    /** @param {Record<string, any>} values */
    const cells = (values) => columns.map((column) => textOf(page, values[column], domain)).join(", ");
    const level = report[`${name}.level`];
    return make(
      "tr",
      make("th", { scope: "row" }, question || name),
      make("td", cells(page.answers)),
      make("td", make("b", cells(report)), level && make("small", sentence(page, "at", { level }))),
    );
  });
}

/**
 * Write an answer or a report as text.
 * @param {Page} page
 * @param {any} value
 * @param {Domain} domain
 */
function textOf(page, value, { categories }) {
  if (value === null) return sentence(page, "unanswered");
  if (value.size) return sentence(page, "basket", { size: value.size, code: value.seed ?? value.bitmap });
  if (typeof value === "number" && !categories) return digits(page, value);
  return [value].flat().join(", ");
}

/**
 * Commit the report: the ledger and the message are kept in one step, before anything is sent.
 * @param {Page} page
 * @returns {Promise<Destination>}
 */
export async function commitReport(page) {
  const { ready, memory, submit } = page;
  if (!ready) return { step: page.step };
  const { before, after, told: _, ...sent } = ready;
  let isStale = false;
  await memory.change((device) => {
    /** @type {Message | undefined} */
    const message = device.messages[sent.id];
    isStale = device.ledger !== before;
    if (isStale || message?.state === "sent" || message?.state === "kept") return device;
    /** @type {Message} */
    const waiting = { ...(message ?? { tries: 0, next: 0 }), ...sent, submit, state: submit ? "waiting" : "file" };
    return { ...device, ledger: after, messages: { ...device.messages, [sent.id]: waiting } };
  });
  if (isStale) return { step: page.step, trouble: sentence(page, "changed") }; // another tab changed the ledger
  if (!submit) download(`${sent.id}.json`, messageText(ready));
  return { step: page.step + 1 };
}
