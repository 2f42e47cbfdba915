// The JavaScript interpreter for tests: node device.js COMMAND, a list of questions to it as JSON on standard input.

import { readFileSync } from "node:fs";
import { readMechanism } from "../../src/sfumato/client/static/mechanism.js";

const bytesOf = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));

const COMMANDS = {
  /** What is remembered of answers, drawn with a secret. */
  async keyed({ domain, program, level, values, secret, question }) {
    const mechanism = await readMechanism(domain, program);
    const asked = { level: level ?? undefined, secret: bytesOf(secret), question };
    return Promise.all(values.map((value) => mechanism.draw(value, asked)));
  },

  /** How often each report is sent of one answer, in so many fresh draws. */
  async counts({ domain, program, level, value, times }) {
    const mechanism = await readMechanism(domain, program);
    const asked = { level: level ?? undefined };
    const found = new Map();
    for (let i = 0; i < times; i++) {
      const report = mechanism.again(await mechanism.draw(value, asked), asked);
      const name = typeof report === "object" ? JSON.stringify(report) : report;
      found.set(name, (found.get(name) ?? 0) + 1);
    }
    return [...found];
  },

  /** What comes of a program that may be damaged: its reports, or the sentence that refuses it. */
  async attempt({ domain, program, answers }) {
    try {
      const mechanism = await readMechanism(domain, program);
      const reports = [];
      for (const level of mechanism.levels) {
        for (const answer of answers) {
          const report = await mechanism.draw(answer, { level });
          reports.push(report, mechanism.again(report, { level }), mechanism.carries(report, level));
        }
        mechanism.gamma(level);
      }
      return { reports };
    } catch (error) {
      return { error: error.constructor.name, sentence: error.message };
    }
  },
};

const found = [];
for (const question of JSON.parse(readFileSync(0, "utf-8"))) {
  const before = performance.now();
  const answer = await COMMANDS[process.argv[2]](question);
  found.push({ answer, seconds: (performance.now() - before) / 1000 });
}
console.log(JSON.stringify(found));
