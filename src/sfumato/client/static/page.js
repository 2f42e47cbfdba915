// The respondent's page, made from survey.json alone: a start, a step for each question, a summary, and receipts.

import { refuse } from "./checks.js";
import { crypto } from "./hashes.js";
import { Ledger } from "./ledger.js";
import { openMemory } from "./memory.js";
import { openOutbox } from "./outbox.js";
import { restoreDevice, saveDevice, setLimit, showLimit } from "./page-device.js";
import { allOf, byId, fill, inputById, makeItems, showTrouble } from "./page-elements.js";
import { showQuestion, skipQuestion, takeAnswer } from "./page-question.js";
import { showReceipt, showReceipts } from "./page-receipt.js";
import { recall, sentence } from "./page-state.js";
import { commitReport, showSummary } from "./page-summary.js";
import { asks, readSurvey } from "./survey.js";
import { voice } from "./voice.js";

/**
 * @import { Memory } from "./memory.js"
 * @import { Classify, Destination, Page } from "./page-state.js"
 * @import { Survey, Voice } from "./sfumato.js"
 */

const SECRET_BYTES = 32; // as client/home.py makes it

// --- steps ----------------------------------------------------------------------------------------------------------

/**
 * A step: its name in index.html, what shows it, and what its main button does.
 * @typedef {{ name: string, show: (page: Page) => Promise<void>, next: (page: Page) => Promise<Destination> }} Step
 */

/** @type {Record<"start" | "question" | "summary" | "receipt", Step>} */
const STEPS = {
  start: { name: "start", show: showReceipts, next: async () => ({ step: 1 }) },
  question: { name: "question", show: showQuestion, next: takeAnswer },
  summary: { name: "summary", show: showSummary, next: commitReport },
  receipt: { name: "receipt", show: showReceipt, next: async () => ({ step: 0 }) },
};

/** Return the step that the page is at. @param {Page} page */
function stepOf({ step, questions }) {
  if (step === 0) return STEPS.start;
  if (step <= questions.length) return STEPS.question;
  return step === questions.length + 1 ? STEPS.summary : STEPS.receipt;
}

/**
 * Show a step, or the first question before it that has not been shown yet.
 * @param {Page} page
 * @param {number} number
 */
async function showStep(page, number) {
  const { survey, collector, memory } = page;
  const { secret, ledger } = await recall(page);
  page.questions = await asks(survey, { secret, collector }); // another secret may have been restored
  const open = page.questions.findIndex(({ columns }) => !(columns[0] in page.answers));
  page.step = open < 0 ? number : Math.min(number, open + 1);
  page.ready = null;
  const { name, show } = stepOf(page);
  showTrouble();
  await show(page);
  showLimit(ledger);
  fill("notice", !memory.isLasting && sentence(page, "device.forgets"));
  for (const part of allOf("[data-step]")) part.hidden = !part.dataset.step?.split(" ").includes(name);
  showButtons(page, name);
  document.body.className = name;
  const title = allOf(`[data-step=${name}] h2`)[0];
  document.title = `${title.textContent} – ${survey.name}`;
  title.tabIndex = -1;
  title.focus(); // so that a screen reader begins here
}

/**
 * Show the buttons of a step; where the limit lets nothing be sent, the settings are opened to change it.
 * @param {Page} page
 * @param {string} name of the step
 */
function showButtons(page, name) {
  const isSummary = name === "summary";
  const isRefused = isSummary && !page.ready;
  fill("next", sentence(page, `next.${isSummary && !page.submit ? "file" : name}`));
  byId("next").hidden = isRefused;
  /** @type {HTMLDetailsElement} */ (byId("device")).open = isRefused;
  if (page.questions[page.step - 1]?.missing === "refuse") byId("skip").hidden = true;
}

/**
 * Go where an action leads; the browser's "back" leads back.
 * @param {Page} page
 * @param {Destination} destination
 */
async function goTo(page, { step, trouble }) {
  if (step !== page.step) history.pushState(step, "");
  await showStep(page, step);
  if (trouble) showTrouble(trouble);
  if (stepOf(page) === STEPS.receipt) page.outbox.send();
}

/**
 * Let the buttons and the browser's history act on the page, one action at a time: a double click acts once.
 * @param {Page} page
 */
function listen(page) {
  let isBusy = false;

  /** @param {() => Promise<Destination>} action */
  async function act(action) {
    if (isBusy) return;
    isBusy = true;
    try {
      await goTo(page, await action());
    } catch (error) {
      showTrouble(/** @type {Error} */ (error).message);
    } finally {
      isBusy = false;
    }
  }

  addEventListener("submit", (event) => {
    event.preventDefault();
    const isLimit = /** @type {HTMLElement} */ (event.target).id === "limit";
    act(() => (isLimit ? setLimit(page) : stepOf(page).next(page)));
  });
  addEventListener("popstate", ({ state }) => showStep(page, state ?? 0));
  addEventListener("online", () => page.outbox.send());
  byId("skip").onclick = () => act(() => skipQuestion(page));
  byId("back").onclick = () => history.back();
  byId("asked").oninput = () => showTrouble();
  byId("save").onclick = () => saveDevice(page);
  byId("restore").onchange = async () => {
    const field = inputById("restore");
    const file = field.files?.[0];
    if (file) await act(() => restoreDevice(page, file));
    field.value = ""; // so that the same file can be chosen again
  };
}

// --- the start ------------------------------------------------------------------------------------------------------

/** Read the survey, and show its start, or the reason why it cannot be answered. */
async function begin() {
  const response = await fetch("survey.json", { cache: "no-store" });
  const document = await response.json();
  const say = voice(document.words);
  if (!crypto.subtle) {
    showBroken(say("device.insecure"));
    return;
  }
  try {
    const page = await openPage(await readSurvey(document), say);
    introduce(page);
    history.replaceState(0, "");
    listen(page);
    await showStep(page, 0);
    byId("all").hidden = false;
    byId("broken").hidden = true;
    page.outbox.send();
  } catch (error) {
    showBroken(say("device.broken", { reason: /** @type {Error} */ (error).message }));
  }
}

/** Show why the survey cannot be answered. @param {string} text */
function showBroken(text) {
  byId("broken").className = "note";
  fill("broken", text);
}

/**
 * Open the page of a survey: its memory (with a new secret where there is none), its outbox and its model.
 * @param {Survey} survey
 * @param {Voice} say
 * @returns {Promise<Page>}
 */
async function openPage(survey, say) {
  const submit = survey.submit && new URL(survey.submit, location.href).href;
  const collector = new URL(submit ?? location.href).origin; // never a name out of the survey
  if ((survey.collector ?? collector) !== collector) {
    refuse(say("device.elsewhere", { whom: collector, collector: survey.collector }));
  }
  const memory = openMemory();
  const secret = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  await memory.change((device) => device ?? { secret, ledger: new Ledger().dumps(), messages: {} });
  const outbox = openOutbox(memory, submit, () => showReceipts(page));
  /** @type {Page} */
  const page = {
    survey,
    say,
    collector,
    submit,
    invitation: location.hash.split("invitation=")[1],
    memory,
    outbox,
    model: survey.model ? loadModel(survey.model) : null,
    questions: [],
    step: 0,
    answers: {},
    levels: {},
    input: null,
    ready: null,
  };
  page.model?.catch(() => null); // its error is shown with the receipt
  return page;
}

/**
 * Fetch the model, and the code that applies it, which other surveys do without.
 * @param {string} address
 * @returns {Promise<Classify>}
 */
async function loadModel(address) {
  const [{ predict, readModel }, response] = await Promise.all([import("./model.js"), fetch(address)]);
  const model = readModel(await response.text());
  return (answers) => predict(model, answers);
}

/**
 * Fill in what stays the same at every step.
 * @param {Page} page
 */
function introduce(page) {
  const { survey, submit } = page;
  for (const part of allOf("[data-say]")) part.textContent = sentence(page, `${part.dataset.say}`);
  fill("name", survey.name);
  fill("about", survey.description);
  fill("whom", sentence(page, submit ? "start.whom" : "start.file", { submit }));
  const { questions_each, drawn } = survey;
  fill("drawn", questions_each && sentence(page, "start.drawn", { questions_each, count: drawn.length }));
  fill("together", makeItems(survey.together));
  if (!survey.model) byId("model").remove();
  keepLonger(page);
}

/**
 * Ask the browser not to clear what the page keeps; say so where it agrees.
 * @param {Page} page
 */
async function keepLonger(page) {
  const isKept = await navigator.storage.persist().catch(() => false);
  if (isKept) fill("clears", sentence(page, "device.holds"));
}

begin().catch((error) => showBroken(error.message));
