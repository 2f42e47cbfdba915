// Runs the cases of devices.json, or of another file; the same file in Node and in a browser. Returns what differs, and the ledgers written.

import { answer, Ledger, LimitError, readSurvey, voice } from "../../src/sfumato/client/static/sfumato.js";
import { readGamma } from "../../src/sfumato/client/static/fractions.js";
import { sameName } from "../../src/sfumato/client/static/ledger.js";

const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};
const same = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
const bytes = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));

/** {differing: [[case, found, wanted]], counted, ledgers: {device: text}} */
export async function run(cases) {
  const differing = [];
  let counted = 0;
  const check = (name, found, wanted) => {
    counted++;
    if (!same(found, wanted)) differing.push([name, found, wanted]);
  };
  const surveys = {};
  for (const [name, { survey }] of Object.entries(cases.plans)) surveys[name] = await readSurvey(survey);
  const ledgers = {};
  for (const [name, device] of Object.entries(cases.devices)) {
    let saved = device.before;
    const ledger = Ledger.loads(device.before, (text) => (saved = text));
    check(`${name}: read and written again`, ledger.dumps(), device.before);
    for (const [i, step] of device.steps.entries()) {
      if (step.limit) await ledger.setLimit(step.limit);
      else check(`${name}: step ${i}`, await outcome(surveys[step.plan], step, bytes(device.secret), ledger), wantedOf(step));
      check(`${name}: saved`, saved, ledger.dumps());
    }
    ledgers[name] = ledger.dumps();
    const written = JSON.parse(ledgers[name]);
    const afresh = device.steps.some((step) => step.afresh);
    if (afresh) written.receipts.forEach((receipt) => (receipt.digest = null));
    check(`${name}: ledger`, written, device.ledger);
    for (const [language, totals] of Object.entries(device.totals)) {
      for (const [whom, wanted] of Object.entries(totals)) {
        const { gamma, sentences } = ledger.total(whom || null, cases.words[language]);
        check(`${name}: total in ${language}`, sentences, wanted);
        check(`${name}: γ`, isSame(gamma, readGamma(device.gammas[whom])), true);
      }
    }
  }
  for (const [name, wanted] of cases.names) check("name", sameName(name), wanted);
  for (const [language, num, den, up, wanted] of cases.numbers) {
    check("number", voice(cases.words[language]).number({ num: BigInt(num), den: BigInt(den) }, up), wanted);
  }
  for (const [language, num, den, wanted] of cases.percents) {
    check("percent", voice(cases.words[language]).percent(BigInt(num), BigInt(den)), wanted);
  }
  return { differing, counted, ledgers };
}

const isSame = (a, b) => (a && b ? a.num * b.den === b.num * a.den : a === b);
const wantedOf = ({ refused, id, report }) => (refused === undefined ? { id, report } : { refused });

async function outcome(survey, { answers, levels, collector, afresh = [] }, secret, ledger) {
  try {
    const { id, report } = await answer(survey, answers, { secret, ledger, collector, levels, today: "2026-05-12" });
    for (const column of afresh) report[column] = null;
    return { id, report };
  } catch (error) {
    return { refused: error instanceof LimitError ? error.message : null };
  }
}

if (typeof process !== "undefined") {
  const { readFile } = await import("node:fs/promises");
  const place = process.argv[2] ?? new URL("devices.json", import.meta.url);
  console.log(JSON.stringify(await run(JSON.parse(await readFile(place, "utf-8")))));
}
