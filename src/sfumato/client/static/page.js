// The respondent's page, made from survey.json alone. True answers are only in `answers`.

import {messageText, openMemory, outbox} from "./queue.js"
import {answer, asks, Ledger, LimitError, predict, readModel, readSurvey, voice} from "./sfumato.js"
import {hex, range, refuse} from "./words.js"

const FEW = 8, answers = {}, levels = {}, memory = openMemory()
const invitation = location.hash.split("invitation=")[1]
let survey, questions, say, whom, submit, box, model, hint, read, ready, busy, step

const at = id => document.getElementById(id)
const every = (selector, work) => document.querySelectorAll(selector).forEach(work)
const inside = parts => parts.flat().filter(Boolean).map(part => part.replaceAll?.(" %", "\u00a0%") ?? part)
const fill = (id, ...parts) => at(id).replaceChildren(...inside(parts))
const said = (name, parts) => say(`device.${name}`, {whom, ...parts})
const digits = number => number.toLocaleString(survey.language, {maximumFractionDigits: 20})

function make(kind, ...parts) {
	const [tag, className = ""] = kind.split("."), made = Object.assign(document.createElement(tag), {className})
	for (const part of inside(parts)) part.constructor === Object ? Object.assign(made, part) : made.append(part)
	return made
}

const list = texts => texts.map(text => make("li", text))
const pick = (properties, ...text) => make("label.pick", make("input", properties), make("span", text))
const download = (name, text) => make("a", {href: URL.createObjectURL(new Blob([text])), download: name}).click()

function trouble(text) {
	fill("trouble", text)
	every("#asked input", (input, place) => {
		input.ariaInvalid = `${!!text}`
		if (text && !place) input.focus()
	})
}

// Step 0 is the start, then questions. Of each: what shows it, and what is next.
const STEPS = [["start", refresh, () => go(1)], ["question", question, given], ["summary", summary, commit],
	["receipt", receipt, () => go(0)]]
const stepAt = place => STEPS[place && 1 + Math.max(place - questions.length, 0)]

function go(to) {
	history.pushState(to, "")
	return show(to)
}

async function show(to) {
	const {secret, ledger: {limit: {gamma, reports}}} = await recall()
	questions = await asks(survey, {secret, collector: whom}) // a secret may be restored
	const open = questions.findIndex(({columns}) => !(columns[0] in answers))
	step = open < 0 ? to : Math.min(to, open + 1)
	const [kind, build] = stepAt(step), each = questions[step - 1]
	ready = null
	trouble()
	await build(each)
	at("belief").value = gamma && 100n * gamma.num / (gamma.num + 19n * gamma.den) // of 5 %
	at("times").value = reports
	fill("notice", !memory.lasting && said("device.forgets"))
	fill("next", said(`next.${submit || kind !== "summary" ? kind : "file"}`))
	every("[data-step]", part => (part.hidden = !part.dataset.step.includes(kind)))
	at("skip").hidden ||= each?.missing === "refuse"
	at("next").hidden = at("device").open = kind === "summary" && !ready
	document.body.className = kind
	const title = document.querySelector(`[data-step=${kind}] h2`)
	document.title = `${title.textContent} – ${survey.name}`
	title.tabIndex = -1
	title.focus()
}

async function question(each) {
	const {name, question, domain, mechanism} = each, inputs = domain.items || domain.categories ? choices : numbers
	fill("asked", make("legend", make("small", said("place", {place: step, count: questions.length})),
		make("h2", question || name)), inputs(each), make("p.soft", {id: "stays"}, mechanism && said("stays")))
	every("#asked input", input => input.setAttribute("aria-describedby", "stays trouble"))
	fill("level", each.default && await levelsOf(each))
	describe(each)
}

function numbers({name, domain, outside}) {
	hint = ""
	read = () => Object.fromEntries(Array.from(at("asked").elements, ({name, valueAsNumber}) => [name, valueAsNumber]))
	return Object.entries(domain.columns ?? {[name]: domain}).map(([column, {low: min, high: max, integer}]) => {
		const ends = {low: digits(min), high: digits(max)}, step = integer ? 1 : "any", value = answers[column] ?? ""
		const asked = said(integer ? "range.whole" : "range", ends), beyond = outside === "clamp" && said("range.clamp", ends)
		hint += asked
		return make("label", domain.columns ? column : said("answer"), make("small", asked, " ", beyond),
			make("input", {type: "number", name: column, min, max, step, value}))
	})
}

function choices({name, domain: {categories, items}, program}) {
	const labels = categories ?? (items.map ? items : range(items)), before = [answers[name]].flat()
	const sizes = program?.sizes?.map(({size}) => size), tally = make("p.soft", {role: "status"})
	const properties = {type: items ? "checkbox" : "radio", name: "answer"}
	const rows = labels.map(label => pick({...properties, checked: before.includes(label)}, `${label}`))
	const chosen = () => labels.filter((_, place) => rows[place].firstChild.checked)
	const onchange = () => {
		tally.textContent = hint = items ? said("sizes", {sizes: sizes.join(", "), count: chosen().length}) : ""
	}
	const oninput = ({target: {value}}) => rows.forEach(row => {
		row.hidden = !row.firstChild.checked && !row.textContent.toLowerCase().includes(value.trim().toLowerCase())
	})
	read = () => {
		const found = chosen()
		if (items && found.length && !sizes.includes(found.length)) throw hint
		return {[name]: items && found.length ? found : found[0]}
	}
	onchange()
	return [tally, labels.length > FEW && make("label", said("find"), make("input", {type: "search", oninput})),
		make("div.items", {onchange}, rows)]
}

function describe({name, levels: offered}, level = levels[name]) {
	const {words} = offered[level ?? ""], parts = ["sent", level ? "" : "usual", "worst", "visible"]
	fill("told", parts.map(part => words[part] && make("p", make("small", said(`told.${part}`)), words[part])))
}

async function levelsOf(each) {
	const {name, levels: offered} = each, {ledger} = await recall()
	const level = ledger.reportsOf(whom, name).find(told => offered[told.level])?.level
	levels[name] = level ?? levels[name] ?? each.default
	at("level").disabled = !!level
	return [make("legend", said("level")), level && make("p.note", said("level.locked", {level})),
		...Object.entries(offered).map(([one, {words}]) => {
			const onchange = () => describe(each, levels[name] = one), checked = one === levels[name]
			return pick({type: "radio", name: "level", checked, onchange}, one, make("small", words.usual || words.worst))
		})]
}

function given() {
	const each = questions[step - 1], {name, domain, blur, missing} = each
	let found
	try {
		found = read()
		blur.value(domain.columns ? found : found[name], {...each, missing: "pass"})
	} catch {
		throw said("error.wrong", {hint})
	}
	if (Object.values(found).every(value => (value ?? NaN) === value)) return keep(found)
	throw said(missing === "refuse" ? "error.needed" : "error.empty")
}

function keep(found) {
	for (const column of questions[step - 1].columns) answers[column] = found[column] ?? null
	return go(step + 1)
}

async function recall() {
	const device = await memory.change(kept => kept)
	return {...device, text: device.ledger, ledger: Ledger.loads(device.ledger)}
}

async function summary() {
	const {secret, text, ledger} = await recall(), totals = () => list(ledger.total(whom, survey.words).sentences)
	fill("sofar", totals())
	try {
		const made = await answer(survey, answers, {secret, ledger, collector: whom, levels}), {report} = made
		ready = {...made, invitation, before: text, after: ledger.dumps()}
		fill("rows", questions.map(({name, question, columns, domain}) => {
			const cells = from => columns.map(column => inCell(from[column], domain)).join(", ")
			const level = report[`${name}.level`]
			return make("tr", make("th", {scope: "row"}, question || name), make("td", cells(answers)),
				make("td", make("b", cells(report)), level && make("small", said("at", {level}))))
		}))
		at("letters").textContent = messageText(ready)
		fill("with", totals())
	} catch (error) {
		trouble(said(error instanceof LimitError ? "refused" : "impossible", {reason: error.message}))
	}
	at("made").hidden = !ready
}

function inCell(value, {categories}) {
	if (value === null) return said("unanswered")
	if (value.size) return said("basket", {size: value.size, code: value.seed ?? value.bitmap})
	return typeof value === "number" && !categories ? digits(value) : [value].flat().join(", ")
}

async function commit() {
	const {before, after, told, ...sent} = ready, {id} = sent, state = submit ? "waiting" : "file"
	let isStale
	await memory.change(({messages, ...device}) => {
		const message = {tries: 0, next: 0, ...messages[id]}
		isStale = device.ledger !== before
		if (isStale || /sent|kept/.test(message.state)) return {messages, ...device}
		return {...device, ledger: after, messages: {...messages, [id]: {...message, ...sent, submit, state}}}
	})
	if (isStale) return show(step).then(() => trouble(said("changed")))
	if (!submit) download(`${id}.json`, messageText(ready))
	await go(step + 1)
	box.send()
}

async function refresh() {
	const own = Object.values((await recall()).messages).filter(({plan}) => plan === survey.plan).reverse()
	const now = own.map(({id, state, reason}) => make("div.card",
		make("small", said("number")), make("code", id),
		make("p", said(`state.${state}`), " ", reason && said(`reason.${reason[0]}`, {reason: reason[1]})),
		/sent|kept|waiting/.test(state) && [make("p.soft", said("withdraw.means")),
			make("button", {type: "button", onclick: () => at("receipts").focus(box.withdraw(id))}, said("withdraw"))]))
	if (at("receipts").textContent !== make("div", now).textContent) fill("receipts", now)
}

async function receipt() {
	await refresh()
	if (model) try {
		const {label, probabilities, rule} = predict(await model, {...survey.blank, ...answers})
		fill("verdict", make("h3", said("model.says", {label, share: Math.floor(100 * probabilities[label])})),
			rule && [make("p.soft", said("model.rule")), make("ul", list(rule))])
	} catch ({message}) {
		fill("verdict", make("p.note", said("model.broken", {reason: message})))
	}
}

async function change(edit, done, wrong) {
	try {
		const {ledger, text} = await recall(), edited = await edit(ledger)
		await memory.change(device => device.ledger === text ? {...device, ...edited} : device)
		await show(step)
		trouble(said(done))
	} catch {
		trouble(said(wrong))
	}
}

const setLimit = () => change(async ledger => {
	const belief = at("belief").value / 100, reports = +at("times").value
	await ledger.setLimit({belief: belief ? [0.05, belief] : null, reports})
	return {ledger: ledger.dumps()}
}, "limit.done", "error.limit")

async function save() {
	const {secret, text} = await recall()
	download("sfumato-device.json", JSON.stringify({device: 1, secret: hex(secret), ledger: JSON.parse(text)}))
}

async function restore({target}) {
	const text = await target.files[0].text()
	const union = (...all) => [...new Map(all.flat().map(one => [JSON.stringify(one), one])).values()]
	await change(old => {
		const {device, secret, ledger} = JSON.parse(text), {told, receipts, limit} = Ledger.loads(JSON.stringify(ledger))
		if (device !== 1 || !/^([0-9a-f]{2}){16,}$/.test(secret)) throw device
		const joined = new Ledger({told: union(told, old.told), receipts: union(receipts, old.receipts), limit})
		return {secret: Uint8Array.from(secret.match(/../g), byte => parseInt(byte, 16)), ledger: joined.dumps()}
	}, "device.restored", "device.wrong")
	target.value = ""
}

async function begin() {
	const found = await (await fetch("survey.json", {cache: "no-store"})).json()
	say = voice(found.words)
	if (!crypto.subtle) refuse(said("insecure"))
	survey = await readSurvey(found)
	submit = survey.submit && new URL(survey.submit, location).href
	whom = new URL(submit ?? location).origin // never a name out of the survey
	if ((survey.collector ?? whom) !== whom) refuse(said("elsewhere", survey))
	every("[data-say]", part => (part.textContent = said(part.dataset.say)))
	fill("name", survey.name)
	fill("about", survey.description)
	fill("whom", said(submit ? "start.whom" : "start.file", {submit}))
	fill("drawn", survey.questions_each && said("start.drawn", {...survey, count: survey.drawn.length}))
	fill("together", list(survey.together))
	navigator.storage.persist().then(lasts => lasts && fill("clears", said("device.holds")), () => null)
	const secret = crypto.getRandomValues(new Uint8Array(32))
	await memory.change(device => device ?? {secret, ledger: new Ledger().dumps(), messages: {}})
	box = outbox(memory, submit, refresh)
	model = survey.model && fetch(survey.model).then(response => response.text()).then(readModel)
	model ? model.catch(() => null) : at("model").remove()
	history.replaceState(0, "")
	onpopstate = ({state}) => show(state ?? 0)
	ononline = box.send
	at("skip").onclick = () => keep({})
	at("back").onclick = () => history.back()
	at("save").onclick = save
	at("asked").oninput = () => trouble()
	at("restore").onchange = restore
	const act = async id => id === "limit" ? setLimit() : stepAt(step)[2]()
	onsubmit = event => {
		event.preventDefault()
		busy ??= act(event.target.id).catch(trouble).finally(() => (busy = null))
	}
	await show(0)
	at("all").hidden = false
	at("broken").hidden = true
	box.send()
}

begin().catch(({message}) => {
	at("broken").className = "note"
	fill("broken", say && crypto.subtle ? said("broken", {reason: message}) : message)
})
