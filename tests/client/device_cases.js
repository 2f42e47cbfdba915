// The device as a page uses it, for tests: node device_cases.js COMMAND, a list of questions to it on standard input.

import { readFileSync } from "node:fs";
import { checkGammas } from "../../src/sfumato/client/static/check/gamma.js";
import { answer, asks, Ledger, readSurvey } from "../../src/sfumato/client/static/sfumato.js";

const SECRET = new TextEncoder().encode("a device's own secret");
const sentence = (error) => ({ refused: error.message, name: error.constructor.name });

const COMMANDS = {
  /** Whether a survey is read, or why not. */
  survey: async (text) => ({ read: (await readSurvey(JSON.parse(text))).name }),

  /** Whether a survey states the γ of its programs, or which it does not. */
  checked: async (text) => ({ read: checkGammas(await readSurvey(JSON.parse(text))).name }),

  /** Whether a ledger is read, or why not. */
  ledger: async (text) => ({ read: Ledger.loads(text).told.length }),

  /** An answer with a secret of any kind: text, a list of bytes, or none. */
  async secret({ survey, answers, secret }) {
    const bytes = Array.isArray(secret) ? Uint8Array.from(secret) : secret;
    return answer(await readSurvey(survey), answers, { secret: bytes, collector: "town" });
  },

  /** An answer whose ledger cannot be saved. */
  async unsaved({ survey, answers }) {
    const ledger = new Ledger({ save: () => Promise.reject(new Error("The storage is full.")) });
    const outcome = await answer(await readSurvey(survey), answers, { secret: SECRET, ledger, collector: "town" }).catch(sentence);
    return { outcome, told: ledger.told, receipts: ledger.receipts };
  },

  /** Two answers at once. */
  async together({ survey, answers }) {
    const [read, ledger] = [await readSurvey(survey), new Ledger()];
    const options = { secret: SECRET, ledger, collector: "town" };
    const [one, other] = await Promise.all([answer(read, answers, options), answer(read, answers, options)]);
    return { same: JSON.stringify(one) === JSON.stringify(other), told: ledger.told.length, receipts: ledger.receipts.length };
  },

  /** One answer and what was told. */
  async once({ survey, answers, collector = "town" }) {
    return answer(await readSurvey(survey), answers, { secret: SECRET, collector });
  },

  /** The questions that a device answers. */
  async asks({ survey, secret, collector }) {
    const asked = await asks(await readSurvey(survey), { secret: Uint8Array.from(secret), collector });
    return asked.map(({ name }) => name);
  },

  /** What a limit becomes. */
  async limit(given) {
    const ledger = new Ledger();
    await ledger.setLimit(given);
    return JSON.parse(ledger.dumps()).limit;
  },
};

const work = COMMANDS[process.argv[2]];
const found = [];
for (const given of JSON.parse(readFileSync(0, "utf-8"))) found.push(await work(given).catch(sentence));
console.log(JSON.stringify(found));
