// The respondent's page, made from survey.json alone. True answers are in `answers` and nowhere else.

import { answer, readSurvey } from "./device.js";
import { Ledger, LimitError, voice } from "./ledger.js";
import { predict, readModel } from "./model.js";
import { messageText, openMemory, outbox } from "./queue.js";
import { hex } from "./words.js";

const FEW = 8, answers = {}, levels = {}, memory = openMemory();
let survey, questions, say, whom, submit, box, model, hint, read, ready, busy, step = 0, reached = 0;

const at = (id) => document.getElementById(id);
const every = (selector, work) => document.querySelectorAll(selector).forEach(work);
const inside = (parts) => parts.flat().filter(Boolean).map((part) => part.replaceAll?.(" %", "\u00a0%") ?? part);
const fill = (id, ...parts) => at(id).replaceChildren(...inside(parts));
const said = (name, parts) => say(`device.${name}`, { whom, ...parts });
const digits = (number) => number.toLocaleString(survey.language, { maximumFractionDigits: 20 });

/** An element "tag.class": its properties (objects) and what is inside. */
function make(kind, ...parts) {
  const [tag, className = ""] = kind.split("."), made = Object.assign(document.createElement(tag), { className });
  for (const part of inside(parts)) part.constructor === Object ? Object.assign(made, part) : made.append(part);
  return made;
}

const list = (texts) => texts.map((text) => make("li", text));
const pick = (properties, ...text) => make("label.pick", make("input", properties), make("span", text));
const download = (name, text) => make("a", { href: URL.createObjectURL(new Blob([text])), download: name }).click();

/** Announce what is wrong; without words all is well. */
function trouble(text) {
  fill("trouble", text);
  every("#asked input", (input, place) => {
    input.ariaInvalid = `${Boolean(text)}`;
    if (text && !place) input.focus();
  });
}

// Step 0 is the start; then come the questions, the summary and the receipt.

const steps = [["start", refresh, () => go(1)], ["question", question, given], ["summary", summary, commit],
  ["receipt", receipt, () => go(0)]];
const stepAt = (place) => steps[place && 1 + Math.max(place - questions.length, 0)];

function go(to) {
  reached = Math.max(reached, to);
  history.pushState(to, "", `#${to}`);
  return show(to);
}

async function show(to) {
  const [kind, build] = stepAt(to), each = questions[to - 1];
  step = to;
  ready = null;
  trouble();
  await build(each);
  const { gamma, reports } = JSON.parse((await recall()).text).limit, [over, under = 1] = gamma?.split("/") ?? [];
  at("belief").value = gamma && Math.round(100 * over / (+over + 19 * under)); // what 5 % grow to
  at("times").value = reports;
  fill("notice", !memory.lasting && said("device.forgets"));
  fill("next", said(`next.${submit || kind !== "summary" ? kind : "file"}`));
  every("[data-step]", (part) => { part.hidden = !part.dataset.step.includes(kind); });
  at("level").hidden ||= Boolean(each?.levels[""]);
  at("skip").hidden ||= each?.missing === "refuse";
  at("next").hidden = at("device").open = kind === "summary" && !ready;
  document.body.className = kind;
  const title = document.querySelector(`[data-step=${kind}] h2`);
  document.title = `${title.textContent} – ${survey.name}`;
  title.tabIndex = -1;
  if (reached) title.focus();
}

async function question(each) {
  const { name, question, domain, mechanism } = each, inputs = domain.items || domain.categories ? choices : numbers;
  fill("asked", make("legend", make("small", said("place", { place: step, count: questions.length })),
    make("h2", question || name)), inputs(each), make("p.soft", { id: "stays" }, mechanism && said("stays")));
  every("#asked input", (input) => input.setAttribute("aria-describedby", "stays trouble"));
  if (!each.levels[""]) await chooseLevel(each);
  describe(each);
}

/** Inputs of numbers; `read()` is what they hold, by column. */
function numbers({ name, domain, outside }) {
  const inputs = {};
  hint = "";
  read = () => Object.fromEntries(Object.entries(inputs).map(([column, { valueAsNumber }]) => [column, valueAsNumber]));
  return Object.entries(domain.columns ?? { [name]: domain }).map(([column, { low: min, high: max, integer }]) => {
    const range = { low: digits(min), high: digits(max) }, step = integer ? 1 : "any", value = answers[column] ?? "";
    const beyond = outside === "clamp" ? said("range.clamp", range) : "";
    const asked = `${said(integer ? "range.whole" : "range", range)} ${beyond}`;
    hint += asked;
    inputs[column] = make("input", { type: "number", min, max, step, value });
    return make("label", domain.columns ? column : said("answer"), make("small", asked), inputs[column]);
  });
}

/** A list to tick, with a search where it is long. */
function choices({ name, domain: { categories, items }, program }) {
  const labels = categories ?? (items.length ? items : [...Array(items).keys()]);
  const before = new Set([answers[name]].flat());
  const sizes = program?.sizes?.map(({ size }) => size), tally = make("p.soft", { role: "status" });
  const type = items ? "checkbox" : "radio", properties = { type, name: "answer", onchange: count };
  const rows = labels.map((label) => pick({ ...properties, checked: before.has(label) }, `${label}`));
  const chosen = () => labels.filter((_, place) => rows[place].firstChild.checked);
  const oninput = ({ target: { value } }) => rows.forEach((row) => {
    row.hidden = !row.firstChild.checked && !row.textContent.toLowerCase().includes(value.trim().toLowerCase());
  });
  function count() {
    hint = items ? said("sizes", { sizes: sizes.join(", "), count: chosen().length }) : "";
    tally.textContent = hint;
  }
  read = () => {
    const found = chosen();
    if (items && found.length && !sizes.includes(found.length)) throw hint;
    return { [name]: items && found.length ? found : found[0] };
  };
  count();
  return [tally, labels.length > FEW && make("label", said("find"), make("input", { type: "search", oninput })),
    make("div.items", rows)];
}

function describe({ name, levels: offered }, level = levels[name]) {
  const { words } = offered[level ?? ""], parts = ["sent", level ? "" : "usual", "worst", "visible"];
  fill("told", parts.map((part) => words[part] && make("p", make("small", said(`told.${part}`)), words[part])));
}

/** That of an earlier report stays. */
async function chooseLevel(each) {
  const { name, levels: offered } = each, { ledger } = await recall();
  const level = ledger.reportsOf(whom, name).find((told) => offered[told.level])?.level;
  levels[name] = level ?? levels[name] ?? each.default;
  at("level").disabled = Boolean(level);
  fill("level", make("legend", said("level")), level && make("p.note", said("level.locked", { level })),
    Object.entries(offered).map(([one, { words }]) => {
      const onchange = () => describe(each, levels[name] = one), checked = one === levels[name];
      return pick({ type: "radio", name: "level", checked, onchange }, one, make("small", words.usual || words.worst));
    }));
}

function given() {
  const each = questions[step - 1], { name, domain, blur, missing } = each;
  let found;
  try {
    found = read();
    blur.value(domain.columns ? found : found[name], { ...each, missing: "pass" });
  } catch {
    throw said("error.wrong", { hint });
  }
  const isMissing = Object.values(found).some((value) => (value ?? NaN) !== value);
  if (isMissing) throw said(missing === "refuse" ? "error.needed" : "error.empty");
  return keep(found);
}

function keep(found) {
  for (const column of questions[step - 1].columns) answers[column] = found[column] ?? null;
  return go(step + 1);
}

async function recall() {
  const device = await memory.change((kept) => kept);
  return { ...device, text: device.ledger, ledger: Ledger.loads(device.ledger) };
}

async function summary() {
  const { secret, text, ledger } = await recall(), totals = () => list(ledger.total(whom, survey.words).sentences);
  fill("sofar", totals());
  try {
    const made = await answer(survey, answers, { secret, ledger, collector: whom, levels }), { report } = made;
    ready = { ...made, before: text, after: ledger.dumps() };
    fill("rows", questions.map(({ name, question, columns, domain }) => {
      const cells = (from) => columns.map((column) => inCell(from[column], domain)).join(", ");
      const level = report[`${name}.level`];
      return make("tr", make("th", { scope: "row" }, question || name), make("td", cells(answers)),
        make("td", make("b", cells(report)), level && make("small", said("at", { level }))));
    }));
    at("letters").textContent = messageText(made);
    fill("with", totals());
  } catch (error) {
    trouble(said(error instanceof LimitError ? "refused" : "impossible", { reason: error.message }));
  }
  at("made").hidden = !ready;
}

function inCell(value, { categories }) {
  if (value === null) return said("unanswered");
  if (value.size) return said("basket", { size: value.size, code: value.seed ?? value.bitmap });
  return typeof value === "number" && !categories ? digits(value) : [value].flat().join(", ");
}

/** Remember and queue what was shown, in one step; nothing if another tab has told something since. */
async function commit() {
  const { plan, id, report, before, after } = ready, state = submit ? "waiting" : "file";
  let isStale;
  await memory.change((device) => {
    const { state: old, tries = 0, next = 0 } = device.messages[id] ?? {};
    isStale = device.ledger !== before;
    if (isStale || old === "sent" || old === "kept") return device;
    const messages = { ...device.messages, [id]: { plan, id, report, submit, state, tries, next } };
    return { ...device, ledger: after, messages };
  });
  if (isStale) return show(step).then(() => trouble(said("changed")));
  if (!submit) download(`${id}.json`, messageText(ready));
  await go(step + 1);
  box.send();
}

async function refresh() {
  const own = Object.values((await recall()).messages).filter(({ plan }) => plan === survey.plan).reverse();
  const now = make("div", own.map(({ id, state, reason }) => make("div.card",
    make("small", said("number")), make("code", id),
    make("p", said(`state.${state}`), " ", reason && said(`reason.${reason[0]}`, { reason: reason[1] })),
    ["sent", "kept", "waiting"].includes(state) && [make("p.soft", said("withdraw.means")),
      make("button", { type: "button", onclick: () => at("receipts").focus(box.withdraw(id)) }, said("withdraw"))])));
  if (at("receipts").textContent !== now.textContent) fill("receipts", [...now.childNodes]);
}

async function receipt() {
  await refresh();
  if (!survey.model) return;
  let parts;
  try {
    const { label, probabilities, rule } = predict(await model, answers);
    parts = [make("h3", said("model.says", { label, share: Math.floor(100 * probabilities[label]) })),
      rule && make("p.soft", said("model.rule")), rule && make("ul", list(rule))];
  } catch ({ message }) {
    parts = [make("p.note", said("model.broken", { reason: message }))];
  }
  fill("verdict", make("h2", said("model")), make("p.soft", said("model.here")), make("div.card", parts));
}

/** Change what is kept and say so, or why not. */
async function change(edit, done, wrong) {
  try {
    const { ledger, text } = await recall(), edited = await edit(ledger);
    await memory.change((device) => device.ledger === text ? { ...device, ...edited } : device);
    await show(step);
    trouble(said(done));
  } catch {
    trouble(said(wrong));
  }
}

const setLimit = () => change(async (ledger) => {
  const belief = at("belief").value / 100, reports = Number(at("times").value);
  await ledger.setLimit({ belief: belief ? [0.05, belief] : undefined, reports });
  return { ledger: ledger.dumps() };
}, "limit.done", "error.limit");

async function save() {
  const { secret, text } = await recall();
  download("sfumato-device.json", JSON.stringify({ device: 1, secret: hex(secret), ledger: JSON.parse(text) }));
}

/** What this device has told stays on the list. */
async function restore({ target }) {
  const text = await target.files[0].text();
  const union = (...all) => [...new Map(all.flat().map((one) => [JSON.stringify(one), one])).values()];
  await change((old) => {
    const { device, secret, ledger } = JSON.parse(text);
    const { told, receipts, limit } = Ledger.loads(JSON.stringify(ledger));
    if (device !== 1 || !/^([0-9a-f]{2}){16,}$/.test(secret)) throw device;
    const joined = new Ledger({ told: union(told, old.told), receipts: union(receipts, old.receipts), limit });
    return { secret: Uint8Array.from(secret.match(/../g), (byte) => parseInt(byte, 16)), ledger: joined.dumps() };
  }, "device.restored", "device.wrong");
  target.value = "";
}

async function begin() {
  const found = await fetch("survey.json", { cache: "no-store" }).then((response) => response.json());
  say = voice(found.words);
  document.documentElement.lang = found.language;
  if (!crypto.subtle) throw new Error(said("insecure"));
  survey = await readSurvey(found);
  questions = survey.questions;
  submit = survey.submit && new URL(survey.submit, location.href).href;
  whom = new URL(submit ?? location.href).origin; // never a name out of the survey
  if ((survey.collector ?? whom) !== whom) throw new Error(said("elsewhere", survey));
  every("[data-say]", (part) => { part.textContent = said(part.dataset.say); });
  fill("name", survey.name);
  fill("about", survey.description);
  fill("whom", said(submit ? "start.whom" : "start.file", { submit }));
  fill("together", list(survey.together));
  navigator.storage?.persist?.().then((lasts) => lasts && fill("clears", said("device.holds")), () => null);
  const secret = crypto.getRandomValues(new Uint8Array(32));
  await memory.change((device) => device ?? { secret, ledger: new Ledger().dumps(), messages: {} });
  box = outbox(memory, submit, refresh);
  model = survey.model && fetch(survey.model).then((response) => response.text()).then(readModel);
  model?.catch(() => null);
  history.replaceState(0, "", location.pathname + location.search);
  onpopstate = ({ state }) => show(Math.min(state ?? 0, reached));
  ononline = box.send;
  const clicks = { skip: () => keep({}), back: () => history.back(), save };
  onclick = ({ target }) => clicks[target.id]?.();
  at("asked").oninput = () => trouble();
  at("restore").onchange = restore;
  onsubmit = (event) => {
    event.preventDefault();
    if (!busy) busy = new Promise((done) => done(event.target.id === "limit" ? setLimit() : stepAt(step)[2]()))
      .catch(trouble).finally(() => { busy = null; });
  };
  await show(0);
  at("all").hidden = false;
  at("broken").hidden = true;
  box.send();
}

begin().catch(({ message }) => {
  at("broken").className = "note";
  fill("broken", say && crypto.subtle ? said("broken", { reason: message }) : message);
});
