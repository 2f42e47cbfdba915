// The JavaScript interpreter for tests: node interpreter.js COMMAND; each line of its input is a list of questions in JSON.

import { createInterface } from "node:readline";
import { freshWords } from "../../src/sfumato/client/static/words.js";
import { gammaOf } from "../../src/sfumato/client/static/check/gamma.js";
import { readMechanism } from "../../src/sfumato/client/static/mechanism.js";

// Random numbers are fetched by the page and handed out: asking the system for each draw takes most of the time.
const fetch = crypto.getRandomValues.bind(crypto);
const pool = new Uint32Array(2 ** 14);
let used = pool.length;
crypto.getRandomValues = (words) => {
  if (words.length > pool.length - used) used = fetch(pool) && 0;
  for (let i = 0; i < words.length; i++) words[i] = pool[used++];
  return words;
};

const bytesOf = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));

const COMMANDS = {
  /** What is remembered of answers, drawn with a secret. */
  async keyed({ domain, program, level, values, secret, question }) {
    const mechanism = await readMechanism(domain, program);
    const asked = { level: level ?? undefined, secret: bytesOf(secret), question };
    return Promise.all(values.map((value) => mechanism.draw(value, asked)));
  },

  /** Fresh words, so many at a time. */
  fresh: ({ counts }) => counts.map((count) => Array.from(freshWords(count))),

  /** How often each report is sent of one answer, in so many fresh draws: [[report, count], …]. */
  async counts({ domain, program, level, value, times }) {
    const { parts, default: usual } = await readMechanism(domain, program);
    const part = parts.get(level ?? usual);
    const codes = part.codes(value);
    const words = freshWords(part.words(codes));
    const several = "columns" in domain;
    const sent = part.again ?? ((report) => report);
    const found = new Map();
    for (let i = 0; i < times; i++) {
      const report = sent(part.remember(codes, crypto.getRandomValues(words)));
      const name = several ? Object.values(report).join() : report;
      found.set(name, (found.get(name) ?? 0) + 1);
    }
    return several ? [...found].map(([name, count]) => [name.split(",").map(Number), count]) : [...found];
  },

  /** How often reports of a basket show each set of some items, of which item i is bit i. */
  async shown({ program, form, basket, items, times }) {
    const mechanism = await readMechanism({ items: program.items }, program);
    const size = mechanism.parts.get("").bySize.get(basket.length);
    const { rho } = program.sizes.find((each) => each.size === basket.length);
    const words = freshWords(size.words[form]);
    const found = new Array(2 ** items.length).fill(0);
    for (let i = 0; i < times; i++) {
      const report = size[form](basket, crypto.getRandomValues(words));
      const elements = form === "seed" && size.field.elements(report);
      const shows = (item) => (elements ? size.field.number(elements, item) < rho[0] : (report[item >> 3] >> (item & 7)) & 1);
      found[items.reduce((set, item, place) => set | (shows(item) << place), 0)]++;
    }
    return found;
  },

  /** What comes of a program that may be damaged: its reports, or the sentence that refuses it. */
  async attempt({ domain, program, answers }) {
    try {
      const mechanism = await readMechanism(domain, program);
      const [reports, gammas] = [[], {}];
      for (const level of mechanism.levels) {
        for (const answer of answers) {
          const report = await mechanism.draw(answer, { level });
          reports.push(report, mechanism.again(report, { level }), mechanism.carries(report, level));
        }
        const gamma = gammaOf(program.levels?.[level] ?? program);
        gammas[level] = gamma && `${gamma.num}/${gamma.den}`;
      }
      return { reports, gammas };
    } catch (error) {
      return { error: error.constructor.name, sentence: error.message };
    }
  },
};

/** The answer and how many seconds of a processor it took, however busy the machine is. */
async function answered(question) {
  const before = process.cpuUsage();
  const answer = await COMMANDS[process.argv[2]](question);
  const { user, system } = process.cpuUsage(before);
  return { answer, seconds: (user + system) / 1e6 };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answers = [];
  for (const question of JSON.parse(line)) answers.push(await answered(question));
  console.log(JSON.stringify(answers));
}
