// The receipt after a report: the state of each message of this survey, and the prediction of the survey's model.

import { byId, fill, make, makeItems } from "./page-elements.js";
import { recall, sentence } from "./page-state.js";

/**
 * @import { Message } from "./memory.js"
 * @import { Page } from "./page-state.js"
 */

/**
 * Show every message of this survey, the latest first.
 * @param {Page} page
 */
export async function showReceipts(page) {
  const { messages } = await recall(page);
  const own = Object.values(messages).filter(({ plan }) => plan === page.survey.plan);
  const cards = own.reverse().map((message) => cardOf(page, message));
  const isNew = byId("receipts").textContent !== make("div", cards).textContent;
  if (isNew) fill("receipts", cards); // otherwise a screen reader would read the same again
}

/**
 * Make the card of a message: its state, the reason, and a button to withdraw it.
 * @param {Page} page
 * @param {Message} message
 */
function cardOf(page, { id, state, reason }) {
  const why = reason && sentence(page, `reason.${reason[0]}`, { reason: reason[1] });
  const card = make(
    "div.card",
    make("small", sentence(page, "number")),
    make("code", id),
    make("p", sentence(page, `state.${state}`), " ", why),
  );
  if (["sent", "kept", "waiting"].includes(state)) {
    const onclick = () => {
      page.outbox.withdraw(id);
      byId("receipts").focus(); // the button goes away
    };
    card.append(
      make("p.soft", sentence(page, "withdraw.means")),
      make("button", { type: "button", onclick }, sentence(page, "withdraw")),
    );
  }
  return card;
}

/** Show every message and, where there is a model, its prediction. @param {Page} page */
export async function showReceipt(page) {
  await showReceipts(page);
  if (page.model) await showVerdict(page);
}

/**
 * Return answers to all questions: those that were not asked are missing.
 * @param {Page} page
 * @returns {Page["answers"]}
 */
function allAnswers({ survey, answers }) {
  const missing = Object.keys(survey.blank).map((column) => [column, null]);
  return { ...Object.fromEntries(missing), ...answers };
}

/**
 * Show the model's prediction from the true answers, computed on this device.
 * @param {Page} page
 */
async function showVerdict(page) {
  try {
    const classify = await page.model;
    if (!classify) return;
    const { label, probabilities, rule } = classify(allAnswers(page));
    const share = Math.floor(100 * probabilities[`${label}`]);
    const conditions = rule && [make("p.soft", sentence(page, "model.rule")), make("ul", makeItems(rule))];
    fill("verdict", make("h3", sentence(page, "model.says", { label, share })), conditions);
  } catch (error) {
    const reason = /** @type {Error} */ (error).message;
    fill("verdict", make("p.note", sentence(page, "model.broken", { reason })));
  }
}
