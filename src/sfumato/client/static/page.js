// The respondent's page, made from survey.json alone. True answers are in `answers` and nowhere else.

import { answer, readSurvey } from "./device.js";
import { Ledger, LimitError, voice } from "./ledger.js";
import { predict, readModel } from "./model.js";
import { messageText, openMemory, outbox } from "./queue.js";

const RADIOS = 8, MOST = 100, answers = {}, levels = {};
let survey, say, whom, submit, memory, box, model, field, ready, step = 0, reached = 0;

const at = (id) => document.getElementById(id);
const held = (text) => text.replaceAll(" %", "\u00a0%"); // no line ends between a number and its %
const said = (name, parts) => held(say(name.startsWith("page.") ? name : `device.${name}`, { whom, ...parts }));
const digits = (number) => number.toLocaleString(survey.language, { maximumFractionDigits: 20 });
const fill = (id, ...inside) => at(id).replaceChildren(...inside.flat().filter(Boolean));

/** An element, "tag.class": objects set its properties and attributes, the rest goes inside. */
function make(kind, ...inside) {
  const [tag, style] = kind.split("."), made = document.createElement(tag);
  for (const part of [style && { class: style }, ...inside].flat()) {
    if (part?.constructor !== Object) made.append(part || "");
    else for (const [name, value] of Object.entries(part)) {
      if (typeof value === "function" || typeof value === "boolean") made[name] = value;
      else if (value !== undefined && value !== null) made.setAttribute(name, value);
    }
  }
  return made;
}

const bullets = (texts) => texts.filter(Boolean).map((text) => make("li", held(text)));
const labelled = (text, input) => make("label", make("span", text), input);
const pick = (type, name, properties, ...text) =>
  make("label.pick", make("input", { type, name, ...properties }), make("span", text));

/** Announce what is wrong (nothing: it is mended); an error in a question marks its inputs. */
function trouble(text, inputs = field?.inputs ?? []) {
  at("trouble").textContent = text;
  if (text) at("trouble").scrollIntoView({ block: "nearest" });
  for (const input of inputs) input.setAttribute("aria-invalid", Boolean(text));
  if (text) inputs[0]?.focus();
}

function download(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
}

// Steps: 0 the start, then the questions, the summary and the receipt.

const steps = {
  start: { build: start, button: "begin", next: () => go(1) },
  question: { build: question, button: "next", next: () => keep(field.read()) },
  summary: { build: summary, button: "send", next: commit },
  receipt: { build: receipt, button: "over", next: () => go(0) },
};
const kindOf = (place) => Object.keys(steps)[place && 1 + Math.max(place - survey.questions.length, 0)];

function go(to) {
  reached = Math.max(reached, to);
  history.pushState(to, "", `#${to}`);
  return show(to);
}

async function show(to) {
  const kind = kindOf(to), { build, button } = steps[kind], each = survey.questions[to - 1];
  step = to;
  field = null;
  trouble("");
  await build(each);
  await showDevice();
  for (const part of document.querySelectorAll("[data-step]")) part.hidden = !part.dataset.step.includes(kind);
  at("level").hidden ||= Boolean(each.levels[""]);
  at("next").hidden = kind === "summary" && !ready;
  at("next").textContent = said(submit || button !== "send" ? button : "save");
  at("skip").hidden = !each || each.missing === "refuse";
  at("back").hidden = !each && kind !== "summary";
  document.body.className = kind;
  const title = document.querySelector(`[data-step=${kind}] h2`);
  document.title = `${title.textContent} – ${survey.name}`;
  title.tabIndex = -1;
  if (reached) title.focus();
}

async function start() {
  const clear = survey.questions.some(({ mechanism }) => !mechanism);
  fill("promises", bullets([said(clear ? "start.most" : "start.stays"), said("start.blurred"), said("start.agreed"),
    said(submit ? "start.whom" : "start.file", { submit })]));
  await refresh();
}

// A question.

async function question(each) {
  const { name, question, mechanism, missing } = each;
  field = fieldOf(each);
  field.empty = said(missing === "refuse" ? "error.needed" : "error.empty");
  for (const input of field.inputs) input.setAttribute("aria-describedby", "hint trouble");
  fill("asked", make("legend", make("small", said("place", { place: step, count: survey.questions.length })),
    make("h2", question || name)), make("p.soft", { id: "hint" }, field.hint, " ", mechanism && said("stays")), field.body);
  if (!each.levels[""]) await chooseLevel(each);
  describe(each);
}

function describe({ name, levels: offered }) {
  const { sent, worst, visible, usual } = offered[levels[name] ?? ""].words;
  for (const [id, text] of Object.entries({ sent, worst, visible, usual: levels[name] ? "" : usual })) fill(id, held(text));
}

/** Keep an answer, null where none is given, and go on. */
function keep(value) {
  const { columns, domain } = survey.questions[step - 1];
  for (const column of columns) answers[column] = value && domain.columns ? value[column] : value;
  return go(step + 1);
}

/** The inputs for a domain: {hint, body, inputs, read}; `read` gives the value or throws a sentence. */
function fieldOf(each) {
  const { name, domain, outside } = each;
  if (domain.items) return basketField(each);
  if (domain.categories) return categoryField(each);
  if (!domain.columns) return numberField(name, domain, outside, said("answer"));
  const parts = Object.entries(domain.columns).map(([column, one]) => [column, numberField(column, one, outside, column)]);
  return {
    hint: "", body: parts.flatMap(([, { body, hint }]) => [body, make("p.soft", hint)]),
    inputs: parts.map(([, { inputs }]) => inputs[0]),
    read: () => Object.fromEntries(parts.map(([column, { read }]) => [column, read()])),
  };
}

function numberField(column, { low, high, integer }, outside, label) {
  const range = { low: digits(low), high: digits(high) }, clamp = outside === "clamp", kind = integer ? ".whole" : "";
  const input = make("input", { type: "number", min: low, max: high, step: integer ? 1 : "any", value: answers[column] });
  return {
    hint: said(`range${kind}`, range) + (clamp ? ` ${said("range.clamp", range)}` : ""),
    inputs: [input], body: labelled(label, input),
    read() {
      const number = input.valueAsNumber, fits = clamp || (number >= low && number <= high);
      if (!input.value && !input.validity.badInput) throw field.empty;
      if (!fits || isNaN(number) || (integer && number % 1)) throw said(`error.number${kind}`, range);
      return number;
    },
  };
}

function categoryField({ name, domain: { categories } }) {
  const current = categories.indexOf(answers[name]), many = categories.length > RADIOS;
  const options = categories.map((label, value) => many
    ? make("option", { value, selected: value === current }, `${label}`)
    : pick("radio", "answer", { value, checked: value === current }, `${label}`));
  const select = make("select", make("option", { value: -1 }, said("choose")), many && options);
  return {
    hint: "", body: many ? labelled(said("answer"), select) : options,
    inputs: many ? [select] : options.map(({ firstChild }) => firstChild),
    read() {
      const value = many ? select.value : document.querySelector("[name=answer]:checked")?.value;
      if (!(value >= 0)) throw field.empty;
      return categories[value];
    },
  };
}

/** A checklist with a search; what is ticked stays in sight. */
function basketField({ name, domain: { items }, program }) {
  const labels = items.length ? items : Array.from({ length: items }, (_, code) => code), ticked = new Set(answers[name]);
  const allowed = program.sizes.map(({ size }) => size), count = () => ({ count: ticked.size, sizes });
  const sizes = new Intl.ListFormat(survey.language, { type: "disjunction" }).format(allowed.map(String));
  const rows = make("div.items"), tally = make("p.soft", { role: "status" }, said("ticked", count()));
  const search = make("input", { type: "search", oninput: draw });
  const tick = (label) => pick("checkbox", "answer", { checked: ticked.has(label), onchange({ target }) {
    ticked[target.checked ? "add" : "delete"](label);
    tally.textContent = said("ticked", count());
  } }, `${label}`);
  function draw() {
    const text = search.value.trim().toLowerCase();
    const found = labels.filter((label) => !ticked.has(label) && `${label}`.toLowerCase().includes(text));
    const more = found.splice(MOST).length;
    rows.replaceChildren(...[...ticked, ...found].map(tick), more ? said("more", { count: more }) : "");
  }
  draw();
  return {
    hint: said("sizes", { sizes }), inputs: [search], body: [labelled(said("find"), search), tally, rows],
    read() {
      if (!ticked.size) throw field.empty;
      if (!allowed.includes(ticked.size)) throw said("error.sizes", count());
      return labels.filter((label) => ticked.has(label));
    },
  };
}

/** Which level; that of an earlier report to the same collector stays. */
async function chooseLevel(each) {
  const { name, levels: offered } = each, { ledger } = await recall();
  const level = ledger.reportsOf(whom, name).find((told) => offered[told.level])?.level;
  levels[name] = level ?? levels[name] ?? each.default;
  at("level").disabled = Boolean(level);
  fill("level", make("legend.minor", said("level")), level && make("p.note", said("level.locked", { level })),
    Object.entries(offered).map(([one, { words }]) => pick("radio", "level", { checked: one === levels[name], onchange() {
      levels[name] = one;
      describe(each);
    } }, one, make("small", held(words.usual || words.worst)))));
}

// What is sent.

/** What this browser keeps, with the ledger read; `text` is the ledger as it is kept. */
async function recall() {
  const device = await memory.read("device");
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
      const cells = (from) => columns.map((column) => inCell(from[column], domain)).join(", ");
      const level = made.report[`${name}.level`];
      return make("tr", make("th", { scope: "row" }, question || name), make("td", cells(answers)),
        make("td", make("b", cells(made.report)), level && make("small", said("at", { level }))));
    }));
    fill("letters", messageText(made));
    fill("with", totals());
  } catch (error) {
    trouble(said(error instanceof LimitError ? "refused" : "impossible", { reason: error.message }));
  }
  at("made").hidden = !ready;
}

function inCell(value, { categories }) {
  if (value === null) return said("unanswered");
  if (value.size) return said("basket", { size: value.size, code: value.seed ?? value.bitmap });
  if (typeof value === "number" && !categories) return digits(value);
  return [value].flat().join(", ");
}

/** Remember and queue, in one step, what was shown; nothing where another tab has told something since. */
async function commit() {
  const { plan, id, report, before, after } = ready, state = submit ? "waiting" : "file";
  const kept = await memory.change("device", (device) => {
    const { state: old, tries = 0, next = 0 } = device.messages[id] ?? {};
    if (device.ledger !== before) return undefined;
    if (!["sent", "kept"].includes(old)) device.messages[id] = { plan, id, report, submit, state, tries, next };
    return { ...device, ledger: after };
  });
  if (!kept) return show(step).then(() => trouble(said("changed")));
  if (!submit) download(`${id}.json`, messageText(ready));
  await go(step + 1);
  box.send();
}

// Afterwards.

async function receipt() {
  await refresh();
  fill("verdict", survey.model ? [make("h3", said("model")), make("p.soft", said("model.here")), await verdict()].flat() : []);
}

async function verdict() {
  try {
    const { label, probabilities, rule } = predict(await model, answers), share = digits(Math.round(100 * probabilities[label]));
    return [make("p", make("b", said("model.says", { label, share }))), rule && make("p.soft", said("model.rule")),
      rule && make("ul", bullets(rule))];
  } catch ({ message }) {
    return [make("p.note", said("model.broken", { reason: message }))];
  }
}

/** The model, fetched now and kept for when there is no connection. */
async function fetchModel() {
  const key = `model ${survey.plan}`;
  const text = await fetch(survey.model).then((response) => response.ok ? response.text() : null, () => null);
  const read = readModel(text ?? await memory.read(key));
  if (text) await memory.change(key, () => text);
  return read;
}

/** Show the receipts, where they have changed. */
async function refresh() {
  const own = Object.values((await recall()).messages).filter(({ plan }) => plan === survey.plan).reverse();
  const now = make("div", own.map(({ id, state, reason }) => make("div.card",
    make("dl", make("dt", said("number")), make("dd", make("code", id)), make("dt", said("state")),
      make("dd", said(`state.${state}`), " ", reason && said(`reason.${reason[0]}`, { reason: reason[1] }))),
    ["sent", "kept", "waiting"].includes(state) && make("div", make("p.soft", said("withdraw.means")),
      make("button", { type: "button", onclick: () => box.withdraw(id) }, said("withdraw"))))));
  if (at("receipts").textContent !== now.textContent) fill("receipts", [...now.childNodes]);
}

// The device.

async function showDevice() {
  const { gamma, reports } = (await recall()).ledger.limit;
  fill("notice", !memory.lasting && said("device.forgets"));
  fill("clears", said(await navigator.storage?.persisted?.() ? "device.holds" : "device.clears"));
  at("belief").value = gamma ? 100n * gamma.num / (gamma.num + 19n * gamma.den) : ""; // what 5 % grow to by γ
  at("times").value = reports;
  at("device").open = kindOf(step) === "summary" && !ready;
}

/** Change what the device keeps, and say so; a sentence where that cannot be. */
async function change(edit, done, wrong) {
  try {
    const { ledger, text } = await recall(), edited = await edit(ledger);
    await memory.change("device", (device) => device.ledger === text ? { ...device, ...edited } : undefined);
    await show(step);
    trouble(said(done), []);
  } catch {
    trouble(said(wrong), []);
  }
}

function setLimit(event) {
  event.preventDefault();
  const belief = Number(at("belief").value), reports = Number(at("times").value);
  change(async (ledger) => {
    await ledger.setLimit({ belief: belief ? [0.05, belief / 100] : undefined, reports });
    return { ledger: ledger.dumps() };
  }, "limit.done", "error.limit");
}

async function save() {
  const { secret, text } = await recall(), hex = Array.from(secret, (byte) => byte.toString(16).padStart(2, "0"));
  download("sfumato-device.json", JSON.stringify({ device: 1, secret: hex.join(""), ledger: JSON.parse(text) }, null, 1));
}

/** Take over a saved secret and ledger; what this device has told stays on the list. */
async function restore({ target }) {
  const text = await target.files[0].text(), all = (...lists) => [...new Map(lists.flat().map((each) => [JSON.stringify(each), each])).values()];
  await change((old) => {
    const { device, secret, ledger } = JSON.parse(text), { told, receipts, limit } = Ledger.loads(JSON.stringify(ledger));
    if (device !== 1 || !/^([0-9a-f]{2}){16,}$/.test(secret)) throw device;
    const joined = new Ledger({ told: all(told, old.told), receipts: all(receipts, old.receipts), limit });
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
  document.querySelector("h1").textContent = survey.name;
  fill("about", survey.description);
  for (const part of document.querySelectorAll("[data-say]")) part.textContent = said(part.dataset.say);
  fill("together", bullets(survey.together));
  memory = await openMemory();
  await memory.change("device", (device) => device ?? {
    secret: crypto.getRandomValues(new Uint8Array(32)), ledger: new Ledger().dumps(), messages: {},
  });
  navigator.storage?.persist?.();
  box = outbox(memory, submit, refresh);
  model = survey.model && fetchModel();
  model?.catch?.(() => null);
  history.replaceState(0, "", location.pathname + location.search);
  addEventListener("popstate", ({ state }) => show(Math.min(state ?? 0, reached)));
  addEventListener("online", box.send);
  at("asked").oninput = () => trouble("");
  at("skip").onclick = () => keep(null);
  at("back").onclick = () => history.back();
  at("save").onclick = save;
  at("restore").onchange = restore;
  at("limit").onsubmit = setLimit;
  at("form").onsubmit = async (event) => {
    event.preventDefault();
    try {
      await steps[kindOf(step)].next();
    } catch (problem) {
      trouble(problem);
    }
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
