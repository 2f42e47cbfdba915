// The client behind the protocol of `sfumato audit` (docs/how-to/audit-a-plan.md): lines of JSON in, lines of JSON out.
//   sfumato audit plan.toml --program "node drive.mjs"

import { bytesOf, crypto } from "./hashes.js";
import { answer, readSurvey } from "./sfumato.js";

/** @import { Answer, Survey } from "./sfumato.js" */

/** @typedef {Record<string, any[]>} Table a list for each column */

const COLLECTOR = "https://audit.example";

handOutFromPool(65_536);

/**
 * Ask the system for random bytes in large pieces: a call for each draw would be most of an audit's time.
 * @param {number} size
 */
function handOutFromPool(size) {
  const fromSystem = crypto.getRandomValues.bind(crypto);
  const pool = new Uint8Array(size);
  let used = size;
  crypto.getRandomValues = (/** @type {any} */ array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    if (bytes.length > size) return fromSystem(array);
    if (used + bytes.length > size) {
      fromSystem(pool);
      used = 0;
    }
    bytes.set(pool.subarray(used, used + bytes.length));
    used += bytes.length;
    return array;
  };
}

const newSecret = () => crypto.getRandomValues(new Uint8Array(32));

/** Turn columns into rows. @param {Table} table @returns {Record<string, any>[]} */
function rowsOf(table) {
  const columns = Object.entries(table);
  const [, first] = columns[0];
  return first.map((_, i) => Object.fromEntries(columns.map(([name, column]) => [name, column[i]])));
}

/** Turn rows into columns. @param {Record<string, any>[]} rows @returns {Table} */
function columnsOf(rows) {
  return Object.fromEntries(Object.keys(rows[0]).map((name) => [name, rows.map((row) => row[name])]));
}

/**
 * Answer one question for many people: draw what a device remembers of each answer, and return what it sends.
 * @param {Survey} survey
 * @param {{ ask: string, true: any[] | Table, level?: string, keys?: string[], questions: string[] }} request
 */
async function ask(survey, { ask: name, true: answers, level, keys, questions }) {
  const question = survey.questions.find((question) => question.name === name);
  if (!question) throw new Error(`${name} is no question of this survey; ask another.`);
  const { blur } = question;
  const reports = [];
  for (const [i, value] of (Array.isArray(answers) ? answers : rowsOf(answers)).entries()) {
    const options = keys ? { level, secret: bytesOf(keys[i]), question: questions[i] } : { level };
    reports.push(blur.again(await blur.draw(value, options), options));
  }
  return { reports: Array.isArray(answers) ? reports : columnsOf(/** @type {any} */ (reports)) };
}

/**
 * Answer all questions for many people, as devices do: each person has a secret and an empty ledger.
 * @param {Survey} survey
 * @param {{ people: Record<string, Answer[]>, keys?: string[] }} request
 */
async function answerAll(survey, { people, keys }) {
  const reports = [];
  for (const [i, answers] of rowsOf(people).entries()) {
    const secret = keys ? bytesOf(keys[i]) : newSecret();
    const { report } = await answer(survey, answers, { secret, collector: COLLECTOR });
    reports.push(report);
  }
  return { reports: columnsOf(reports) };
}

/**
 * Yield the lines of a stream; one line may come in many chunks.
 * @param {AsyncIterable<Buffer>} stream
 */
async function* linesOf(stream) {
  /** @type {Buffer[]} */
  let parts = [];
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]).toString();
      parts = [];
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
  }
}

/** Answer every request of the standard input; the first one has the survey. */
async function answerRequests() {
  /** @type {Survey | undefined} */
  let survey;

  /** @param {any} request @returns {Promise<object>} */
  async function reply(request) {
    if (request.survey) {
      survey = await readSurvey(request.survey);
      return { audit: 1, keys: true, people: true };
    }
    if (!survey) throw new Error("There is no survey yet; send it first.");
    return request.people ? answerAll(survey, request) : ask(survey, request);
  }

  for await (const line of linesOf(process.stdin)) {
    const response = await reply(JSON.parse(line)).catch((error) => ({ error: error.message }));
    process.stdout.write(`${JSON.stringify(response)}\n`);
  }
}

await answerRequests();
