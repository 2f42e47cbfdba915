// A person's device: it answers a survey with its own secret, and tells a collector the same thing once.

import { areTexts, fraction, Ledger, sameName } from "./ledger.js";
import { readDomain, readMechanism } from "./mechanism.js";
import { canonical, hex, hmac, refuse, sha256 } from "./words.js";

const damaged = (what) => refuse(`The survey is damaged (${what}); load it again.`);
const digits = async (hash) => (await hash).slice(0, 32);

/** The survey that a document describes; it is refused where it is newer, or its identities are not those computed here. */
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

/** A question with its `blur`, which is executed. */
async function readQuestion(question) {
  const { name, domain, program, mechanism, columns, levels } = question ?? {};
  try {
    const blur = program === null ? { ...readDomain(domain), ...CLEAR } : await readMechanism(domain, program);
    const own = [blur.identity, blur.default || null, Object.keys(domain.columns ?? { [name]: 0 }), [...blur.levels].sort()];
    if (canonical(own) !== canonical([mechanism, question.default, columns, Object.keys(levels).sort()])) damaged("its program");
    for (const level of blur.levels) {
      const { gamma, words } = levels[level];
      if (!areTexts(Object.values(words)) || fraction(gamma) === undefined) damaged("its words");
    }
    blur.parts?.forEach((part) => part.noiseIdentity()); // now, not while somebody waits for an answer
    return { ...question, blur };
  } catch (error) {
    throw about(name, error instanceof TypeError ? new Error("The survey is damaged; load it again.") : error);
  }
}

/** What is sent as it is. */
const CLEAR = {
  identity: null, levels: [""], default: "",
  carries: () => true, draw: (value) => value, again: (report) => report,
};

const about = (name, error) => Object.assign(error, { message: `${name}: ${error.message}` });

/**
 * A person's reports for a survey, remembered before they are returned; all of them or, beyond the limit, none.
 * `collector` is who receives them: an address that the device knows for itself. → {plan, id, report, told}
 */
export function answer(survey, answers, { ledger = new Ledger(), ...options } = {}) {
  const work = () => answerNow(survey, answers, ledger, options);
  return (ledger.turn = Promise.resolve(ledger.turn).then(work, work)); // one answer after the other
}

async function answerNow({ plan, name: survey, questions, words }, answers, ledger, { secret, collector, levels, today }) {
  const common = { collector: `${collector ?? ""}`.trim(), survey };
  const day = today ?? localDay(new Date());
  if (!common.collector) refuse("The collector is empty; say who receives the reports, as an address that cannot be forged.");
  const asked = questions.flatMap(({ name, columns }) => [...columns, `${name}.level`]);
  const stray = Object.keys(answers).find((column) => !asked.includes(column));
  if (stray !== undefined) refuse(`${stray} is no question of this survey; drop it.`);
  const keyed = async (purpose, text) => {
    return digits(hex(await hmac(secret, new TextEncoder().encode(`sfumato/1/${purpose}\0${text}`))));
  };

  /** What is remembered of a question, from before or drawn now. */
  async function remember(question) {
    const { name: attribute, domain, mechanism, blur } = question;
    const value = blur.value(domain.columns ? answers : answers[attribute], question);
    const mark = await keyed("mark", await sha256(canonical([sameName(attribute), value])));
    const known = ledger.reportsOf(common.collector, attribute).find((told) => isSame(question, told, mark));
    if (known) return known;
    const level = question.default && (levels?.[attribute] ?? answers[`${attribute}.level`] ?? question.default);
    const { gamma } = question.levels[level ?? ""] ?? refuse(`The level is unknown; choose ${blur.levels.join(" or ")}.`);
    const drawn = { level, secret, question: JSON.stringify([common.collector, sameName(attribute)]) };
    const told = value === null ? { report: null, gamma: "1" } : { report: await blur.draw(value, drawn), gamma };
    return { ...common, attribute, domain, mechanism, level, mark, ...told, day };
  }

  const drafts = await Promise.all(
    questions.map((each) => remember(each).catch((error) => Promise.reject(about(each.name, error)))),
  );
  const [fresh, report] = [[], {}];
  let afresh = false;
  const told = questions.map((question, i) => {
    const { name, columns, domain, program, blur, default: levelled } = question;
    const twins = ledger.told.includes(drafts[i]) ? [drafts[i]] : fresh;
    const found = twins.find((each) => isSame(question, each, drafts[i].mark)) ?? drafts[i];
    if (twins === fresh && found === drafts[i]) fresh.push(found);
    const sent = blur.again(found.report, { level: levelled && found.level });
    for (const column of columns) report[column] = domain.columns && sent ? sent[column] : sent;
    if (levelled !== null) report[`${name}.level`] = found.level;
    afresh ||= sent !== null && (program?.levels?.[found.level] ?? program)?.permanent !== undefined;
    return found;
  });
  const digest = await digits(sha256(canonical(report)));
  const before = ledger.receipts.filter((each) => each.collector === common.collector && each.plan === plan);
  const same = afresh ? undefined : before.find((each) => each.digest === digest);
  const id = same?.id ?? (await keyed("id", JSON.stringify([common.collector, plan, before.length])));
  await ledger.add(fresh, same ? [] : [{ ...common, plan, id, digest, day }], words);
  return { plan, id, report, told };
}

/** Whether what was told is of the same value and can be sent here; a seed or a row only by the mechanism that drew it. */
function isSame({ blur, domain, mechanism, default: levelled }, told, mark) {
  const fits = told.mechanism === mechanism || (told.mechanism && mechanism && !domain.columns && !told.report?.seed);
  const known = levelled === null || blur.levels.includes(told.level);
  const same = told.mark === mark && canonical(told.domain) === canonical(domain);
  return same && fits && known && blur.carries(told.report, levelled && told.level);
}

const localDay = (now) => new Date(now - 60000 * now.getTimezoneOffset()).toISOString().slice(0, 10);
