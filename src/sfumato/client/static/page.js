// The respondent's page, made from survey.json alone. True answers are in `answers` and nowhere else.

import { answer, readSurvey } from "./device.js";
import { Ledger, sameName, voice } from "./ledger.js";
import { predict, readModel } from "./model.js";
import { messageText, openMemory, outbox } from "./queue.js";

const RADIOS = 8, MOST = 100, answers = {}, levels = {};
let survey, say, whom, submit, memory, box, model, field, ready, step = 0, reached = 0;

const at = (id) => document.getElementById(id);
const held = (text) => text.replaceAll(" %", "\u00a0%"); // no line ends between a number and its %
const said = (name, parts) => held(say(name.startsWith("page.") ? name : `device.${name}`, { whom, ...parts }));
const shown = (label) => typeof label === "number" ? say.number(label, 17) : `${label}`;
const fill = (id, ...inside) => at(id).replaceChildren(...inside.flat().filter(Boolean));
const trouble = (text) => {
  at("trouble").textContent = text;
  if (text) at("trouble").scrollIntoView({ block: "nearest" });
};

/** An element, "tag.class": objects set its properties and attributes, the rest goes inside. */
function make(kind, ...inside) {
  const [tag, style] = kind.split("."), made = document.createElement(tag);
  for (const part of [{ class: style }, ...inside].flat()) {
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

function download(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
}

// --- steps: 0 the start, then the questions, the summary and the receipt ----------------------------------------------

const steps = {
  start: { build: start, button: "begin", next: () => go(1) },
  question: { build: question, button: "next", next: () => keep(field.read()) },
  summary: { build: summary, button: "send", next: commit },
  receipt: { build: receipt, button: "over", next: () => go(0) },
};
const kindOf = (place) => place && ["question", "summary", "receipt"][Math.max(place - survey.questions.length, 0)] || "start";

function go(to) {
  reached = Math.max(reached, to);
  history.pushState(to, "", `#${to}`);
  return show(to);
}

async function show(to) {
  const kind = kindOf(to), { build, button } = steps[kind], each = survey.questions[to - 1];
  step = to;
  trouble("");
  at("next").hidden = false;
  at("next").textContent = said(submit || button !== "send" ? button : "save");
  await build(each);
  await showDevice();
  for (const part of document.querySelectorAll("[data-step]")) part.hidden = !part.dataset.step.includes(kind);
  at("level").hidden ||= Boolean(each?.levels[""]);
  at("skip").hidden = each?.missing === "refuse" || !each;
  at("back").hidden = !at("next").hidden && !["question", "summary"].includes(kind);
  document.body.className = kind;
  const title = document.querySelector(`[data-step=${kind}] h2`);
  document.title = `${title.textContent} – ${survey.name}`;
  title.tabIndex = -1;
  if (reached) title.focus();
}

async function start() {
  const clear = survey.questions.some(({ mechanism }) => !mechanism), origin = submit && new URL(submit).origin;
  fill("promises", bullets([
    said(clear ? "start.most" : "start.stays"), said("start.blurred"), said("start.agreed"),
    said(submit ? "start.whom" : "start.file"), origin && !whom.startsWith(origin) && said("start.via", { origin }),
  ]));
  await refresh();
}

// --- a question -------------------------------------------------------------------------------------------------------

async function question(each) {
  const { name, question, mechanism, missing } = each;
  const body = (field = fieldOf(each)).body;
  field.empty = said(missing === "refuse" ? "error.needed" : "error.empty");
  for (const input of field.inputs) input.setAttribute("aria-describedby", "hint trouble");
  fill("asked", make("legend", make("small", said("place", { place: step, count: survey.questions.length })),
    make("h2", question || name)), make("p.soft", { id: "hint" }, field.hint, " ", mechanism && said("stays")), body);
  if (!each.levels[""]) await chooseLevel(each);
  describe(each);
}

function describe({ name, levels: offered }) {
  const { words } = offered[levels[name] ?? ""];
  for (const [part, text] of Object.entries(words)) at(part).textContent = part === "usual" && levels[name] ? "" : held(text);
}

/** Keep an answer (null: none was given) and go on; a sentence where it is no answer. */
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
    hint: "", body: parts.map(([, { body, hint }]) => [body, make("p.soft", hint)]).flat(),
    inputs: parts.map(([, { inputs }]) => inputs[0]),
    read: () => Object.fromEntries(parts.map(([column, { read }]) => [column, read()])),
  };
}

function numberField(column, { low, high, integer = false }, outside, label) {
  const range = { low: shown(low), high: shown(high) }, clamp = outside === "clamp", kind = integer ? ".whole" : "";
  const input = make("input", { type: "number", min: low, max: high, step: integer ? 1 : "any", value: answers[column] });
  return {
    hint: said(`range${kind}`, range) + (clamp ? ` ${said("range.clamp", range)}` : ""),
    inputs: [input], body: [labelled(label, input)],
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
    ? make("option", { value, selected: value === current }, shown(label))
    : pick("radio", "answer", { value, checked: value === current }, shown(label)));
  const select = make("select", make("option", { value: -1 }, said("choose")), many && options);
  return {
    hint: "", body: many ? [labelled(said("answer"), select)] : options,
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
  const sizes = allowed.length > 3 ? `${allowed[0]}–${allowed.at(-1)}` : say.listed(allowed, "or");
  const rows = make("div.items"), tally = make("p.soft", { role: "status" }, said("ticked", count()));
  const search = make("input", { type: "search", oninput: draw });
  const tick = (label) => pick("checkbox", "answer", { checked: ticked.has(label), onchange({ target }) {
    ticked[target.checked ? "add" : "delete"](label);
    tally.textContent = said("ticked", count());
  } }, shown(label));
  function draw() {
    const text = search.value.trim().toLowerCase();
    const found = labels.filter((label) => !ticked.has(label) && shown(label).toLowerCase().includes(text));
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
  const { name, levels: offered } = each, [, ledger] = await recall();
  const isEarlier = (told) => told.collector === whom && sameName(told.attribute) === sameName(name) && offered[told.level];
  const level = ledger.told.find(isEarlier)?.level;
  levels[name] = level ?? levels[name] ?? each.default;
  at("level").disabled = Boolean(level);
  fill("level", make("legend.minor", said("level")), level && make("p.note", said("level.locked", { level })),
    Object.entries(offered).map(([one, { words }]) => pick("radio", "level", { checked: one === levels[name], onchange() {
      levels[name] = one;
      describe(each);
    } }, one, make("small", held(words.usual || words.worst)))));
}

// --- what is sent -----------------------------------------------------------------------------------------------------

/** What this browser keeps, and the ledger in it. */
async function recall() {
  const device = await memory.read("device");
  return [device, Ledger.loads(device.ledger, survey)];
}

async function summary() {
  const [{ secret, ledger: before }, ledger] = await recall();
  fill("sofar", bullets(ledger.total(whom).sentences));
  ready = null;
  try {
    const made = await answer(survey, answers, { secret, ledger, collector: whom, levels });
    ready = { ...made, before, after: ledger.dumps() };
    fill("rows", survey.questions.map(({ name, question, columns }) => {
      const cells = (from) => columns.map((column) => inCell(from[column])).join(", "), level = made.report[`${name}.level`];
      return make("tr", make("th", { scope: "row" }, question || name), make("td", cells(answers)),
        make("td", make("b", cells(made.report)), level && make("small", said("at", { level }))));
    }));
    at("letters").textContent = messageText(made);
    fill("with", bullets(ledger.total(whom).sentences));
  } catch ({ name, message }) {
    trouble(said(name === "LimitError" ? "refused" : "impossible", { reason: message }));
  }
  at("made").hidden = at("next").hidden = !ready;
}

function inCell(value) {
  if (value === null) return said("unanswered");
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return value.size ? said("basket", { size: value.size, code: value.seed ?? value.bitmap }) : shown(value);
}

/** Remember and queue, in one step, what was shown; nothing where another tab has told something since. */
async function commit() {
  const { plan, id, report, before, after } = ready, state = submit ? "waiting" : "file";
  const kept = await memory.change("device", (device) => {
    const { state: old, tries = 0, next = 0 } = device.messages[id] ?? {};
    if (device.ledger !== before) return undefined;
    if (old !== "sent") device.messages[id] = { plan, id, report, submit, state, tries, next };
    return { ...device, ledger: after };
  });
  if (!kept) return show(step).then(() => trouble(said("changed")));
  if (!submit) download(`${id}.json`, messageText(ready));
  await go(step + 1);
  box.send();
}

// --- afterwards -------------------------------------------------------------------------------------------------------

async function receipt() {
  await refresh();
  at("verdict").replaceChildren();
  if (!survey.model) return;
  fill("verdict", make("h3", said("model")), make("p.soft", said("model.here")), await verdict());
}

async function verdict() {
  try {
    const { label, probabilities, rule } = predict(await model, answers), share = say.percent(probabilities[label]);
    const { name, question } = survey.questions.find(({ role }) => role === "class");
    return [make("p", make("b", said("model.says", { name: question || name, label: shown(label), share }))),
      rule && make("p.soft", said("model.rule")), rule && make("ul", bullets(rule))];
  } catch ({ message }) {
    return [make("p.note", said("model.broken", { reason: message }))];
  }
}

/** The model, fetched now and kept for when there is no connection. */
async function fetchModel() {
  const key = `model ${survey.plan}`;
  const text = await fetch(survey.model).then((response) => response.ok ? response.text() : null, () => null);
  const read = readModel(JSON.parse(text ?? await memory.read(key)));
  if (text) await memory.change(key, () => text);
  return read;
}

/** The receipts, where they have changed. */
async function refresh() {
  const all = Object.values((await recall())[0].messages).filter(({ plan }) => plan === survey.plan).reverse();
  const now = make("div", all.map((each) => make("div.card told",
    make("dl", make("dt", said("number")), make("dd", make("code", each.id)), make("dt", said("state")), make("dd", stateOf(each))),
    ...["sent", "waiting"].includes(each.state) ? [make("p.soft", said("withdraw.means")),
      make("button", { type: "button", onclick: () => box.withdraw(each.id) }, said("withdraw"))] : [])));
  if (at("receipts").textContent !== now.textContent) fill("receipts", [...now.childNodes]);
}

function stateOf({ state, reason, next }) {
  const why = reason && (reason[0] === "said" ? reason[1] : said(`reason.${reason[0]}`, { status: reason[1] }));
  const time = new Date(next).toLocaleTimeString(survey.language), told = said(`state.${state}`, { reason: why });
  if (!why || state === "refused") return told;
  return `${told} ${said(state === "sent" ? "kept" : "tried", { reason: why, time })}`;
}

// --- the device -------------------------------------------------------------------------------------------------------

async function showDevice() {
  const [, { limit: { gamma, reports } }] = await recall(), [over, under = 1] = (gamma ?? "").split("/");
  at("notice").textContent = memory.lasting ? "" : said("device.forgets");
  at("clears").textContent = said(await navigator.storage?.persisted?.() ? "device.holds" : "device.clears");
  at("belief").value = gamma ? Math.round(100 * over / (+over + 19 * under)) : ""; // γ / (γ + 19), of 5 %
  at("times").value = reports;
  if (kindOf(step) === "summary") at("device").open = !ready;
}

/** Change what the device keeps; a sentence where that cannot be. */
async function change(edit, done, wrong) {
  try {
    const [{ ledger }] = await recall(), edited = edit(Ledger.loads(ledger, survey));
    await memory.change("device", (device) => device.ledger === ledger ? { ...device, ...edited } : device);
    await show(step);
    trouble(said(done));
  } catch {
    trouble(said(wrong));
  }
}

const setLimit = (event) => {
  event.preventDefault();
  const belief = Number(at("belief").value), reports = Number(at("times").value);
  return change((ledger) => {
    if (!(belief === 0 || (belief > 5 && belief < 100)) || belief % 1 || reports < 1 || reports % 1) throw belief;
    ledger.limit = { gamma: belief ? `${19 * belief}/${100 - belief}` : null, reports };
    return { ledger: ledger.dumps() };
  }, "limit.done", "error.limit");
};

async function save() {
  const [{ secret, ledger }] = await recall();
  const hex = Array.from(secret, (byte) => byte.toString(16).padStart(2, "0")).join("");
  download("sfumato-device.json", JSON.stringify({ device: 1, secret: hex, ledger: JSON.parse(ledger) }, null, 1));
}

/** Take over a saved secret and ledger; what this device has told stays on the list. */
async function restore({ target }) {
  const text = await target.files[0].text();
  await change((old) => {
    const { device, secret, ledger } = JSON.parse(text), read = Ledger.loads(JSON.stringify(ledger), survey);
    if (device !== 1 || !/^([0-9a-f]{2}){16,}$/.test(secret)) throw device;
    const all = [...read.told, ...old.told].map((each) => [JSON.stringify(each), each]);
    read.told = [...new Map(all).values()];
    return { secret: Uint8Array.from(secret.match(/../g), (byte) => parseInt(byte, 16)), ledger: read.dumps() };
  }, "device.restored", "device.wrong");
  target.value = "";
}

// --- beginning --------------------------------------------------------------------------------------------------------

async function begin() {
  const found = await fetch("survey.json", { cache: "no-store" }).then((response) => response.json());
  say = voice(found.words);
  document.documentElement.lang = found.language;
  if (!crypto.subtle) throw new Error(said("insecure"));
  survey = await readSurvey(found);
  submit = survey.submit && new URL(survey.submit, location.href).href;
  whom = survey.collector ?? new URL(submit ?? location.href).origin;
  document.querySelector("h1").textContent = survey.name;
  at("about").textContent = survey.description;
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
      field.inputs.forEach((input) => input.setAttribute("aria-invalid", "true"));
      field.inputs[0].focus();
    }
  };
  await show(0);
  at("all").hidden = false;
  at("broken").hidden = true;
  box.send();
}

begin().catch((error) => { at("broken").textContent = say ? said("broken", { reason: error.message }) : `${error.message}`; });
