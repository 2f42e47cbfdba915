// The client behind the protocol of `sfumato audit` (docs/how-to/audit-a-plan.md): lines of JSON in, lines of JSON out.
//   sfumato audit plan.toml --program "node drive.mjs"

import { readMechanism } from "./mechanism.js";

const bytes = (hex) => Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16));
const isBlurred = (question) => question.mechanism !== null;

let survey;
let mechanisms;

async function begin(document) {
  survey = document;
  mechanisms = new Map();
  for (const { name, domain, program } of survey.questions.filter(isBlurred)) {
    mechanisms.set(name, await readMechanism(domain, program));
  }
  return { audit: 1, keys: true, people: true };
}

/** Reports of one attribute: what a device remembers of each answer, and what it sends of that. */
async function draw(name, answers, more) {
  const mechanism = mechanisms.get(name);
  const reports = [];
  for (const answer of answers) reports.push(mechanism.again(await mechanism.draw(answer, more), more));
  return reports;
}

async function ask({ ask: name, true: answers, level, key, question }) {
  const more = { level, question, secret: key && bytes(key), form: "seed" };
  return { reports: Array.isArray(answers) ? await draw(name, answers, more) : columns(await draw(name, rows(answers), more)) };
}

async function people({ people: table, key }) {
  const reports = {};
  for (const { name, columns: names } of survey.questions.filter(isBlurred)) {
    reports[name] = table[name];
  }
  return { reports };
}

/** A table by columns as a list of rows, and back. */
const rows = (table) =>
  Object.values(table)[0].map((_, i) => Object.fromEntries(Object.entries(table).map(([name, column]) => [name, column[i]])));
const columns = (list) =>
  Object.fromEntries(Object.keys(list[0]).map((name) => [name, list.map((row) => row[name])]));

async function answered(request) {
  if ("survey" in request) return begin(request.survey);
  return "people" in request ? people(request) : ask(request);
}

async function* lines(stream) {
  let parts = [];
  for await (const chunk of stream) {
    let from = 0;
    for (let at; (at = chunk.indexOf(10, from)) >= 0; from = at + 1) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]).toString();
      parts = [];
    }
    parts.push(chunk.subarray(from));
  }
}

for await (const line of lines(process.stdin)) {
  const said = await answered(JSON.parse(line)).catch((error) => ({ error: error.message }));
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
