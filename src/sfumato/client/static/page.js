// The respondent's page, made from survey.json alone. True answers are in `answers` and nowhere else.

import { answer, readSurvey } from "./device.js";
import { Ledger, LimitError, voice } from "./ledger.js";
import { predict, readModel } from "./model.js";
import { messageText, openMemory, outbox } from "./queue.js";
import { hex } from "./words.js";

const FEW = 8, MOST = 100, answers = {}, levels = {}, memory = openMemory();
let survey, say, whom, submit, box, model, field, ready, step = 0, reached = 0;

const at = (id) => document.getElementById(id);
const every = (selector, work) => document.querySelectorAll(selector).forEach(work);
const held = (part) => part.replaceAll?.(" %", "\u00a0%") ?? part; // no line ends between a number and its %
const inside = (parts) => parts.flat().filter(Boolean).map(held);
const fill = (id, ...parts) => at(id).replaceChildren(...inside(parts));
const said = (name, parts) => say(name.startsWith("page.") ? name : `device.${name}`, { whom, ...parts });
const digits = (number) => number.toLocaleString(survey.language, { maximumFractionDigits: 20 });

/** An element "tag.class" with its properties (objects) and what is inside. */
function make(kind, ...parts) {
  const [tag, className = ""] = kind.split("."), made = Object.assign(document.createElement(tag), { className });
  for (const part of inside(parts)) part.constructor === Object ? Object.assign(made, part) : made.append(part);
  return made;
}

const bullets = (texts) => texts.map((text) => make("li", text));
const soft = (...text) => make("p.soft", text);
const labelled = (input, ...text) => make("label", text, input);
const pick = (type, name, checked, onchange, ...text) =>
  make("label.pick", make("input", { type, name, checked, onchange }), make("span", text));

/** Announce what is wrong, and mark the answer; without words all is well. */
function trouble(text = "") {
  fill("trouble", text);
  every("#asked input", (input) => { input.ariaInvalid = `${text !== ""}`; });
  if (text) at("trouble").scrollIntoView({ block: "nearest" });
  if (text) document.querySelector("#asked input")?.focus();
}

function download(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
}

// Steps: 0 the start, then the questions, the summary and the receipt.

const steps = [
  ["start", start, "begin", () => go(1)], ["question", question, "next", given], ["summary", summary, "send", commit],
  ["receipt", receipt, "over", () => go(0)],
];
const stepAt = (place) => steps[place && 1 + Math.max(place - survey.questions.length, 0)];

function go(to) {
  reached = Math.max(reached, to);
  history.pushState(to, "", `#${to}`);
  return show(to);
}

async function show(to) {
  const [kind, build, button] = stepAt(to), each = survey.questions[to - 1];
  step = to;
  trouble();
  await build(each);
  const { limit: { gamma, reports } } = (await recall()).ledger;
  at("belief").value = gamma ? 100n * gamma.num / (gamma.num + 19n * gamma.den) : ""; // what γ makes of 5 %
  at("times").value = reports;
  at("device").open = kind === "summary" && !ready;
  fill("notice", !memory.lasting && said("device.forgets"));
  fill("next", said(submit || kind !== "summary" ? button : "save"));
  every("[data-step]", (part) => { part.hidden = !part.dataset.step.includes(kind); });
  if (each?.levels[""]) at("level").hidden = true;
  at("next").hidden = kind === "summary" && !ready;
  at("skip").hidden = !each || each.missing === "refuse";
  document.body.className = kind;
  const title = document.querySelector(`[data-step=${kind}] h2`);
  document.title = `${title.textContent} – ${survey.name}`;
  title.tabIndex = -1;
  if (reached) title.focus();
}

function start() {
  const stays = survey.questions.every(({ mechanism }) => mechanism) ? "start.stays" : "start.most";
  fill("promises", bullets([stays, "start.blurred", "start.agreed", submit ? "start.whom" : "start.file"]
    .map((name) => said(name, { submit }))));
  return refresh();
}

// A question.

async function question(each) {
  const { name, question, domain, mechanism } = each;
  field = domain.items || domain.categories ? listField(each) : numberField(each);
  fill("asked", make("legend", make("small", said("place", { place: step, count: survey.questions.length })),
    make("h2", question || name)), field.body, make("p.soft", { id: "hint" }, mechanism && said("stays")));
  every("#asked input", (input) => input.setAttribute("aria-describedby", "hint trouble"));
  if (!each.levels[""]) await chooseLevel(each);
  describe(each);
}

/** The inputs: {body, hint, read}; `read` gives the answer, null without one. */
function numberField({ name, domain, outside }) {
  const fields = Object.entries(domain.columns ?? { [name]: domain }).map(([column, { low, high, integer }]) => {
    const range = { low: digits(low), high: digits(high) };
    const hint = said(integer ? "range.whole" : "range", range) + (outside === "clamp" ? ` ${said("range.clamp", range)}` : "");
    const input = make("input", { type: "number", min: low, max: high, step: integer ? 1 : "any", value: answers[column] ?? "" });
    return { column, hint, input, body: labelled(input, domain.columns ? column : said("answer"), make("small", hint)) };
  });
  const read = () => {
    const values = fields.map(({ column, input }) => [column, input.valueAsNumber]);
    if (values.some(([, value]) => isNaN(value))) return null;
    return domain.columns ? Object.fromEntries(values) : values[0][1];
  };
  return { body: fields.map(({ body }) => body), hint: fields.map(({ hint }) => hint).join(" "), read };
}

/** Categories and items: a list, with a search where it is long; what is ticked stays in sight. */
function listField({ name, domain: { categories, items }, program }) {
  const labels = categories ?? (items.length ? items : [...Array(items).keys()]), ticked = new Set([answers[name] ?? []].flat());
  const sizes = program?.sizes?.map(({ size }) => `${size}`), rows = make("div.items");
  const hint = sizes ? said("sizes", { sizes: new Intl.ListFormat(survey.language, { type: "disjunction" }).format(sizes) }) : "";
  const tally = make("p.soft", { role: "status" }), search = make("input", { type: "search", oninput: draw });
  const count = () => tally.replaceChildren(sizes ? `${hint} ${said("ticked", { count: ticked.size })}` : "");
  const tick = (label) => pick(sizes ? "checkbox" : "radio", "answer", ticked.has(label), () => {
    if (!sizes) ticked.clear();
    if (!ticked.delete(label)) ticked.add(label);
    count();
  }, `${label}`);
  function draw() {
    const text = search.value.trim().toLowerCase();
    const found = labels.filter((label) => !ticked.has(label) && `${label}`.toLowerCase().includes(text));
    const more = found.splice(MOST).length, chosen = search.value ? [...ticked] : labels.filter((label) => ticked.has(label));
    rows.replaceChildren(...[...chosen, ...found].map(tick), more ? said("more", { count: more }) : "");
  }
  draw();
  count();
  return {
    body: [tally, labels.length > FEW && labelled(search, said("find")), rows], hint,
    read() {
      if (sizes && ticked.size && !sizes.includes(`${ticked.size}`)) throw hint;
      return ticked.size ? sizes ? labels.filter((label) => ticked.has(label)) : [...ticked][0] : null;
    },
  };
}

function describe({ name, levels: offered }) {
  const { words } = offered[levels[name] ?? ""];
  for (const part of ["sent", "usual", "worst", "visible"]) fill(part, part !== "usual" || !levels[name] ? words[part] : "");
}

/** Which level; that of an earlier report to the same collector stays. */
async function chooseLevel(each) {
  const { name, levels: offered } = each, { ledger } = await recall();
  const level = ledger.reportsOf(whom, name).find((told) => offered[told.level])?.level;
  levels[name] = level ?? levels[name] ?? each.default;
  at("level").disabled = Boolean(level);
  fill("level", make("legend.minor", said("level")), level && make("p.note", said("level.locked", { level })),
    Object.entries(offered).map(([one, { words }]) => pick("radio", "level", one === levels[name], () => {
      levels[name] = one;
      describe(each);
    }, one, make("small", words.usual || words.worst))));
}

function given() {
  const each = survey.questions[step - 1];
  let value;
  try {
    value = field.read();
    each.blur.value(value, { ...each, missing: "pass" });
  } catch {
    throw said("error.wrong", { hint: field.hint });
  }
  if (value === null) throw said(each.missing === "refuse" ? "error.needed" : "error.empty");
  return keep(value);
}

function keep(value) {
  const { columns, domain } = survey.questions[step - 1];
  for (const column of columns) answers[column] = value && domain.columns ? value[column] : value;
  return go(step + 1);
}

// What is sent.

/** What this browser keeps, with the ledger read; `text` is the ledger as it is kept. */
async function recall() {
  const device = await memory.change("device", (kept) => kept);
  return { ...device, text: device.ledger, ledger: Ledger.loads(device.ledger) };
}

async function summary() {
  const { secret, text, ledger } = await recall(), totals = () => bullets(ledger.total(whom, survey.words).sentences);
  fill("sofar", totals());
  ready = null;
  try {
    const made = await answer(survey, answers, { secret, ledger, collector: whom, levels });
    ready = { ...made, before: text, after: ledger.dumps() };
    fill("rows", survey.questions.map(({ name, question, columns, domain }) => {
      const cells = (from) => columns.map((column) => inCell(from[column], domain)).join(", "), level = made.report[`${name}.level`];
      return make("tr", make("th", { scope: "row" }, question || name), make("td", cells(answers)),
        make("td", make("b", cells(made.report)), level && make("small", said("at", { level }))));
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

/** Remember and queue, in one step, what was shown; nothing where another tab has told something since. */
async function commit() {
  const { plan, id, report, before, after } = ready, state = submit ? "waiting" : "file";
  let isStale;
  await memory.change("device", (device) => {
    const { state: old, tries = 0, next = 0 } = device.messages[id] ?? {};
    isStale = device.ledger !== before;
    if (isStale || old === "sent" || old === "kept") return device;
    return { ...device, ledger: after, messages: { ...device.messages, [id]: { plan, id, report, submit, state, tries, next } } };
  });
  if (isStale) return show(step).then(() => trouble(said("changed")));
  if (!submit) download(`${id}.json`, messageText(ready));
  await go(step + 1);
  return box.send();
}

// Afterwards.

async function receipt() {
  await refresh();
  if (!survey.model) return;
  let parts;
  try {
    const { label, probabilities, rule } = predict(await model, answers), share = Math.round(100 * probabilities[label]);
    parts = [make("h3", said("model.says", { label, share })), rule && soft(said("model.rule")), rule && make("ul", bullets(rule))];
  } catch ({ message }) {
    parts = [make("p.note", said("model.broken", { reason: message }))];
  }
  fill("verdict", make("h3", said("model")), soft(said("model.here")), parts);
}

/** The model, fetched now and kept for when there is no connection. */
async function fetchModel() {
  const text = await fetch(survey.model).then((response) => response.ok ? response.text() : null, () => null);
  return readModel(await memory.change(`model ${survey.plan}`, (kept) => text ?? kept));
}

/** Show the receipts, where they have changed. */
async function refresh() {
  const own = Object.values((await recall()).messages).filter(({ plan }) => plan === survey.plan).reverse();
  const now = make("div", own.map(({ id, state, reason }) => make("div.card", null,
    soft(said("number")), make("code", id),
    make("p", said(`state.${state}`), " ", reason && said(`reason.${reason[0]}`, { reason: reason[1] })),
    ["sent", "kept", "waiting"].includes(state) && [soft(said("withdraw.means")),
      make("button", { type: "button", onclick: () => box.withdraw(id) }, said("withdraw"))])));
  if (at("receipts").textContent !== now.textContent) fill("receipts", [...now.childNodes]);
}

// The device.

/** Change what the device keeps, and say so; another sentence where that cannot be. */
async function change(edit, done, wrong) {
  try {
    const { ledger, text } = await recall(), edited = await edit(ledger);
    await memory.change("device", (device) => device.ledger === text ? { ...device, ...edited } : device);
    await show(step);
    trouble(said(done));
  } catch {
    trouble(said(wrong));
  }
}

const setLimit = () => change(async (ledger) => {
  const belief = Number(at("belief").value), reports = Number(at("times").value);
  await ledger.setLimit({ belief: belief ? [0.05, belief / 100] : undefined, reports });
  return { ledger: ledger.dumps() };
}, "limit.done", "error.limit");

async function save() {
  const { secret, text } = await recall();
  download("sfumato-device.json", JSON.stringify({ device: 1, secret: hex(secret), ledger: JSON.parse(text) }));
}

/** Take over a saved secret and ledger; what this device has told stays on the list. */
async function restore({ target }) {
  const text = await target.files[0].text(), union = (...all) => [...new Map(all.flat().map((one) => [JSON.stringify(one), one])).values()];
  await change((old) => {
    const { device, secret, ledger } = JSON.parse(text), { told, receipts, limit } = Ledger.loads(JSON.stringify(ledger));
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
  submit = survey.submit && new URL(survey.submit, location.href).href;
  whom = survey.collector ?? new URL(submit ?? location.href).origin;
  every("[data-say]", (part) => { part.textContent = said(part.dataset.say); });
  fill("name", survey.name);
  fill("about", survey.description);
  fill("together", bullets(survey.together));
  fill("clears", said("device.clears"));
  navigator.storage?.persist?.().then((lasts) => lasts && fill("clears", said("device.holds")), () => null);
  const secret = crypto.getRandomValues(new Uint8Array(32));
  await memory.change("device", (device) => device ?? { secret, ledger: new Ledger().dumps(), messages: {} });
  box = outbox(memory, submit, refresh);
  model = survey.model && fetchModel();
  model?.catch(() => null);
  history.replaceState(0, "", location.pathname + location.search);
  onpopstate = ({ state }) => show(Math.min(state ?? 0, reached));
  ononline = box.send;
  at("asked").oninput = () => trouble();
  at("skip").onclick = () => keep(null);
  at("back").onclick = () => history.back();
  at("save").onclick = save;
  at("restore").onchange = restore;
  onsubmit = (event) => {
    event.preventDefault();
    const act = event.target.id === "limit" ? setLimit : stepAt(step)[3];
    Promise.resolve().then(act).catch(trouble);
  };
  await show(0);
  at("all").hidden = false;
  at("broken").hidden = true;
  box.send();
}

begin().catch(({ message }) => {
  at("broken").className = "trouble";
  fill("broken", say && crypto.subtle ? said("broken", { reason: message }) : message);
});
