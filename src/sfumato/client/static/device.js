// A person's device: it answers a survey with its own secret, and tells a collector the same thing once.

import { fraction, gammaText, Ledger, sameName } from "./ledger.js";
import { readDomain, readMechanism } from "./mechanism.js";
import { canonical, hex, hmac, refuse, sha256 } from "./words.js";

const damaged = (what) => refuse(`The survey is damaged (${what}); load it again.`);
const areTexts = (...values) => values.flat().every((value) => typeof value === "string");

/** The survey that a document describes, its figures computed anew; a damaged or newer one is refused. */
export async function readSurvey(document) {
  const { survey, plan, name, language, together, words } = document ?? {};
  if (survey > 1) refuse(`The survey is of version ${survey} and this device reads version 1; update the device.`);
  const texts = areTexts(name, language, together, Object.values(words ?? [0]));
  if (survey !== 1 || !texts || !Array.isArray(document.questions)) damaged("parts are missing");
  const questions = await Promise.all(document.questions.map(readQuestion));
  const attributes = questions.map(({ name, domain, mechanism: channel, missing, outside, role, question }) => {
    return { name, domain, channel, missing, outside, role, question };
  });
  if (plan !== (await sha256(canonical({ name, attributes })))) damaged("it is another plan than it says");
  return { ...document, questions };
}

/** A question with its `blur`, which is executed, and the γ of each level as text. */
async function readQuestion(question) {
  const { name, domain, program, mechanism, columns, levels } = question ?? {};
  try {
    const blur = program === null ? { ...readDomain(domain), ...CLEAR } : await readMechanism(domain, program);
    const own = [blur.identity, blur.default || null, domain.columns ? Object.keys(domain.columns) : [name], [...blur.levels].sort()];
    const told = [mechanism, question.default, columns, Object.keys(levels).sort()];
    const texts = blur.levels.every((level) => areTexts(Object.values(levels[level].words)));
    if (canonical(own) !== canonical(told) || !texts) damaged("its parts do not agree");
    const gammas = blur.levels.map((level) => [level, checked(fraction(levels[level].gamma), blur, level)]);
    blur.parts?.forEach((part) => part.noiseIdentity()); // now, not while somebody waits for an answer
    return { ...question, blur, gammas: Object.fromEntries(gammas) };
  } catch (error) {
    throw error instanceof TypeError ? new Error(`${name}: The survey is damaged; load it again.`) : named(name, error);
  }
}

/** What is sent as it is. */
const CLEAR = {
  identity: null, levels: [""], default: "",
  gamma: () => null, carries: () => true, draw: (value) => value, again: (report) => report,
};

/** The larger, as text, of a stated γ and the program's: equal but for the last digits of a computation in doubles. */
function checked(stated, blur, level) {
  if (stated === null) return null; // claims nothing
  const own = blur.gamma(level) ?? damaged("its γ has no bound");
  const [a, b] = [stated.num * own.den, own.num * stated.den];
  if ((a < b ? b - a : a - b) * 10n ** 9n > b) damaged("its γ is another");
  return gammaText(a < b ? own : stated);
}

const named = (name, error) => Object.assign(error, { message: `${name}: ${error.message}` });

/**
 * A person's reports for a survey, remembered before they are returned; all of them or, beyond the limit, none.
 * `collector` is who receives them: an address that the device knows for itself. → {plan, id, report, told}
 */
export function answer(survey, answers, { ledger = new Ledger(), ...options } = {}) {
  const work = () => answerNow(survey, answers, ledger, options);
  return (ledger.turn = Promise.resolve(ledger.turn).then(work, work)); // one answer after the other
}

async function answerNow(survey, answers, ledger, { secret, collector, levels = {}, today = localDay() }) {
  const { plan, name, questions, words } = survey;
  const whom = `${collector ?? ""}`.trim();
  if (!whom) refuse("The collector is empty; say who receives the reports, as an address that cannot be forged.");
  const asked = questions.flatMap((question) => [...question.columns, `${question.name}.level`]);
  const stray = Object.keys(answers).find((column) => !asked.includes(column));
  if (stray !== undefined) refuse(`${stray} is no question of this survey; drop it.`);
  const keyed = async (purpose, text) => {
    return hex(await hmac(secret, new TextEncoder().encode(`sfumato/1/${purpose}\0${text}`))).slice(0, 32);
  };

  /** What is remembered of a question, from before or drawn now. */
  async function remember(question) {
    const { name: attribute, domain, mechanism, blur } = question;
    const value = blur.value(domain.columns ? answers : answers[attribute], question);
    const mark = await keyed("mark", await sha256(canonical([sameName(attribute), value])));
    const known = ledger.reportsOf(whom, attribute).find((told) => told.mark === mark && carries(question, told));
    if (known) return known;
    const level = question.default && (levels[attribute] ?? answers[`${attribute}.level`] ?? question.default);
    const told = { collector: whom, survey: name, attribute, domain, mechanism, level, mark, report: null, gamma: "1", day: today };
    const own = question.gammas[level ?? ""];
    if (own === undefined) refuse(`The level is unknown; choose ${blur.levels.join(" or ")}.`);
    if (value === null) return told;
    const drawn = { level, secret, question: JSON.stringify([whom, sameName(attribute)]) };
    return { ...told, report: await blur.draw(value, drawn), gamma: own };
  }

  const drafts = await Promise.all(questions.map((each) => remember(each).catch((error) => Promise.reject(named(each.name, error)))));
  const [fresh, report] = [[], {}];
  let afresh = false;
  const told = questions.map((question, i) => {
    const { program, default: levelled } = question;
    const before = [...ledger.told.filter((each) => each === drafts[i]), ...fresh];
    const known = before.find((each) => each.mark === drafts[i].mark && carries(question, each));
    const found = known ?? drafts[i];
    if (!known) fresh.push(found);
    const sent = question.blur.again(found.report, { level: levelled && found.level });
    for (const column of question.columns) report[column] = question.domain.columns ? sent?.[column] ?? null : sent;
    if (levelled !== null) report[`${question.name}.level`] = found.level;
    afresh ||= sent !== null && (program?.levels?.[found.level] ?? program)?.permanent !== undefined;
    return found;
  });
  const digest = (await sha256(canonical(report))).slice(0, 32);
  const before = ledger.receipts.filter((each) => each.collector === whom && each.plan === plan);
  const same = afresh ? undefined : before.find((each) => each.digest === digest);
  const id = same?.id ?? (await keyed("id", JSON.stringify([whom, plan, before.length])));
  await ledger.add(fresh, same ? [] : [{ collector: whom, survey: name, plan, id, digest, day: today }], words);
  return { plan, id, report, told };
}

/** Whether what was told can be sent as a report of this question; a seed or a row only by the mechanism that drew it. */
function carries({ blur, domain, mechanism, default: levelled }, { mechanism: drawn, level, report, domain: over }) {
  const fits = drawn === mechanism || (drawn && mechanism && !domain.columns && !report?.seed);
  const known = levelled === null || blur.levels.includes(level);
  return fits && known && canonical(over) === canonical(domain) && blur.carries(report, levelled && level);
}

const localDay = (now = new Date()) => new Date(now - 60000 * now.getTimezoneOffset()).toISOString().slice(0, 10);
