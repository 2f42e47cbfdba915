// A person's device: it answers a survey with its own secret, and tells a collector the same thing once.

import { fraction, gammaText, isAbove, Ledger, sameName } from "./ledger.js";
import { readDomain, readMechanism } from "./mechanism.js";
import { canonical, hex, hmac, refuse, sha256 } from "./words.js";

const damaged = (what) => refuse(`The survey is damaged (${what}); load it again.`);
const areTexts = (...values) => values.flat().every((value) => typeof value === "string");

/** The survey that a document describes, its figures computed anew; a damaged or newer one is refused. */
export async function readSurvey(document) {
  const { survey, plan, name, language, together, words } = document ?? {};
  if (survey > 1) refuse(`The survey is of version ${survey} and this device reads version 1; update the device.`);
  const whole = survey === 1 && Array.isArray(document.questions) && areTexts(name, language, together, Object.values(words ?? [0]));
  if (!whole) damaged("parts are missing");
  const questions = await Promise.all(document.questions.map(readQuestion));
  const attributes = questions.map(({ name, domain, mechanism, missing, outside, role, question }) => {
    return { name, domain, channel: mechanism, missing, outside, role, question };
  });
  if (plan !== (await sha256(canonical({ name, attributes })))) damaged("it is another plan than it says");
  return { ...document, questions };
}

/** A question with its `blur`, which is executed, and the γ of each level as text. */
async function readQuestion(question) {
  const { name, domain, program, mechanism, columns, levels } = question ?? {};
  if (!areTexts(name, question.question)) damaged("a question has no name");
  try {
    const blur = program === null ? clear(domain) : await readMechanism(domain, program);
    const own = domain.columns ? Object.keys(domain.columns) : [name];
    const stated = [mechanism, question.default ?? "", columns, Object.keys(levels).sort()];
    if (canonical([blur.identity, blur.default, own, [...blur.levels].sort()]) !== canonical(stated)) damaged("its program is another");
    const gammas = {};
    for (const level of blur.levels) {
      const { sent, worst, usual, visible } = levels[level].words;
      if (!areTexts(sent, worst, usual, visible)) damaged("words are missing");
      gammas[level] = agreed(fraction(levels[level].gamma), blur.gamma(level));
    }
    return { ...question, blur, gammas };
  } catch (error) {
    const plain = error instanceof TypeError ? "The survey is damaged; load it again." : error.message;
    throw new Error(`${name}: ${plain}`);
  }
}

const clear = (domain) => ({
  ...readDomain(domain), identity: null, levels: [""], default: "", gamma: () => null,
  carries: () => true, draw: (value) => value, again: (report) => report,
});

/** The larger of two γ that are equal but for the last digits of a computation in doubles, as text. */
function agreed(stated, computed) {
  const near = (a, b) => a.num * b.den * 10n ** 9n <= b.num * a.den * (10n ** 9n + 1n);
  const same = stated && computed ? near(stated, computed) && near(computed, stated) : stated === computed;
  return same ? gammaText(stated && isAbove(computed, stated) ? computed : stated) : damaged("its γ is another");
}

const turns = new WeakMap(); // of each ledger: one answer after the other

/**
 * A person's reports for a survey, remembered before they are returned; all of them or, beyond the limit, none.
 * `collector` is who receives them: an address that the device knows for itself. → {plan, id, report, told}
 */
export function answer(survey, answers, { ledger = new Ledger(), ...options } = {}) {
  const turn = Promise.resolve(turns.get(ledger)).then(() => answerNow(survey, answers, ledger, options));
  turns.set(ledger, turn.catch(() => {}));
  return turn;
}

async function answerNow(survey, answers, ledger, { secret, collector, levels = {}, today = localDay() }) {
  const whom = `${collector ?? ""}`.trim() || refuse("The collector is empty; say who receives the reports, as an address that cannot be forged.");
  const { plan, name, questions, words } = survey;
  const known = questions.flatMap(({ name, columns, default: level }) => (level === null ? columns : [...columns, `${name}.level`]));
  const stray = Object.keys(answers).find((column) => !known.includes(column));
  if (stray !== undefined) refuse(`${stray} is no question of this survey; drop it.`);
  const keyed = async (purpose, text) => {
    return hex(await hmac(secret, new TextEncoder().encode(`sfumato/1/${purpose}\0${text}`))).slice(0, 32);
  };
  const values = await Promise.all(questions.map((question) => about(question, async () => {
    const value = question.blur.value(question.domain.columns ? answers : answers[question.name], question);
    return { value, mark: await keyed("mark", await sha256(canonical([sameName(question.name), value]))) };
  })));
  const [fresh, told, report] = [[], [], {}];
  let afresh = false;
  for (const [i, question] of questions.entries()) await about(question, async () => {
    const { name: attribute, blur, domain, mechanism } = question;
    const { value, mark } = values[i];
    const earlier = [...ledger.reportsOf(whom, attribute), ...fresh.filter((each) => sameName(each.attribute) === sameName(attribute))];
    let found = earlier.find((each) => each.mark === mark && carries(question, each));
    if (!found) {
      const level = question.default === null ? null : levels[attribute] ?? answers[`${attribute}.level`] ?? question.default;
      const asked = { level, secret, question: JSON.stringify([whom, sameName(attribute)]), form: "seed" };
      const drawn = value === null ? null : await blur.draw(value, asked);
      const gamma = value === null ? "1" : question.gammas[level ?? ""];
      found = { collector: whom, survey: name, attribute, domain, mechanism, level, mark, report: drawn, gamma, day: today };
      fresh.push(found);
    }
    told.push(found);
    const sent = blur.again(found.report, { level: question.default === null ? "" : found.level });
    for (const column of question.columns) report[column] = domain.columns ? sent?.[column] ?? null : sent;
    if (question.default !== null) report[`${attribute}.level`] = found.level;
    const { program } = question;
    afresh ||= sent !== null && (program?.levels?.[found.level] ?? program)?.permanent !== undefined;
  });
  const digest = (await sha256(canonical(report))).slice(0, 32);
  const before = ledger.receipts.filter((each) => each.collector === whom && each.plan === plan);
  const same = afresh ? undefined : before.find((each) => each.digest === digest);
  const id = same?.id ?? (await keyed("id", JSON.stringify([whom, plan, before.length])));
  await ledger.add(fresh, same ? [] : [{ collector: whom, survey: name, plan, id, digest, day: today }], words);
  return { plan, id, report, told };
}

/** Whether what was told can be sent as a report of this question; a seed or a row only by the mechanism that drew it. */
function carries({ blur, domain, mechanism, default: level }, told) {
  const same = told.mechanism === mechanism;
  const loose = mechanism !== null && told.mechanism !== null && !domain.columns && !told.report?.seed;
  if (canonical(told.domain) !== canonical(domain) || !(same || loose)) return false;
  return level === null ? blur.carries(told.report, "") : blur.levels.includes(told.level) && blur.carries(told.report, told.level);
}

/** What is done for a question; an error names it. */
async function about({ name }, work) {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

const localDay = (now = new Date()) => new Date(now - 60000 * now.getTimezoneOffset()).toISOString().slice(0, 10);
