// What a device has told whom, what that adds up to, what its person permits.

import {areTexts, attempt, canonical, checkVersion, isWhole, need, refuse} from "./words.js"

export class LimitError extends Error {}

export const sameName = name =>
	name.normalize("NFKC").toLowerCase().split(/(?!\ufeff)[\s\x1c-\x1f\x85]/).filter(Boolean).join(" ")

export function fraction(text) {
	if (text === null) return null
	need(/^\d{1,2000}(\/0*[1-9]\d{0,2000})?$/.test(text), "γ")
	const [num, den = 1n] = text.split("/").map(BigInt)
	return need(num >= den, "γ") && {num, den}
}

export function reduced({num, den}) {
	let [a, b] = [num, den]
	while (b) [a, b] = [b, a % b]
	return {num: num / a, den: den / a}
}

const tens = power => 10n ** BigInt(Math.max(power, 0))

function decimal(number) {
	const [digits, power = 0] = `${number}`.split("e"), [whole, part = ""] = digits.split(".")
	return {num: BigInt(whole + part) * tens(power - part.length), den: tens(part.length - power)}
}

const times = (a, b) => a && b && {num: a.num * b.num, den: a.den * b.den}
const product = told => told.map(({gamma}) => fraction(gamma)).reduce(times, {num: 1n, den: 1n})

function quotient(num, den, up) {
	const floor = num / den, twice = 2n * (num % den)
	return Number(floor + BigInt(up ? twice > 0n : twice > den || (twice === den && floor % 2n === 1n)))
}

export function voice(words) {
	const say = (name, parts) => (words[name] ?? name).replace(/\{(\w+)\}/g, (_, part) => parts[part])
	const marked = text => text.replace(/[,.]/g, mark => words[mark === "," ? "number.group" : "number.decimal"])
	say.number = ({num, den}, up) => {
		let power = `${num / den}`.length - 1, four = quotient(num * tens(3 - power), den * tens(power - 3), up)
		if (four === 10000) [four, power] = [1000, power + 1]
		return marked(power < 15 ? (four * 10 ** (power - 3)).toLocaleString("en") : `${four / 1000}e+${power}`)
	}
	say.percent = (num, den) => marked(`${quotient(1000n * num, den, true) / 10} %`)
	say.listed = names => {
		const found = [...new Set(names)], last = found.pop() ?? ""
		return found.length ? `${found.join(", ")} ${say("and")} ${last}` : last
	}
	return say
}

function sentences(told, say) {
	const names = entries => say.listed(entries.map(each => each.attribute))
	const whom = say.listed(told.map(each => each.collector))
	const answers = told.filter(each => each.report !== null), gaps = told.filter(each => each.report === null)
	const clear = answers.filter(each => each.mechanism === null)
	const loose = told.filter(each => each.mechanism !== null && each.gamma === null)
	const asked = told.map(each => canonical([each.collector, each.attribute, each.domain]))
	const changed = told.filter((each, i) => told.some(({mark}, j) => mark !== each.mark && asked[i] === asked[j]))
	const {num, den} = product(answers.filter(each => each.gamma !== null))
	const [five, fifty] = [19n, 1n].map(odds => say.percent(num, num + odds * den))
	return [
		!told.length && say("told.nothing"),
		...Object.entries({answers, gaps, clear, loose}).map(([kind, found]) =>
			found.length && say(`told.${kind}`, {whom, names: names(found)})),
		num > den && say(clear.length || loose.length ? "told.bound.more" : "told.bound",
			{gamma: say.number({num, den}, true), five, fifty}),
		changed.length && say("told.changed", {names: names(changed)}),
	].filter(Boolean)
}

export class Ledger {
	constructor({told = [], receipts = [], limit = {gamma: null, reports: 1}, save} = {}) {
		Object.assign(this, {told, receipts, limit, save})
	}

	static loads(text, save) {
		const hasTexts = (each, names) => areTexts(names.split(" ").map(name => each[name]))
		return attempt("ledger", () => {
			const {ledger, told, limit: {gamma, reports}, receipts = []} = JSON.parse(text)
			checkVersion(ledger, "ledger")
			const isTold = each => each.domain && "report" in each && fraction(each.gamma) !== 0 &&
				areTexts(each.mechanism ?? "", each.level ?? "") && hasTexts(each, "collector survey attribute mark day")
			const isReceipt = each => hasTexts(each, "collector survey plan id digest day")
			need(isWhole(reports, 1, Infinity) && told.every(isTold) && receipts.every(isReceipt), "ledger")
			return new Ledger({told, receipts, limit: {gamma: fraction(gamma), reports}, save})
		})
	}

	dumps() {
		const {told, receipts, limit: {gamma, reports}} = this
		const limit = {gamma: gamma && `${gamma.num}${gamma.den > 1n ? `/${gamma.den}` : ""}`, reports}
		return `${JSON.stringify({ledger: 1, limit, told, ...receipts.length && {receipts}}, null, 1)}\n`
	}

	async setLimit({gamma, epsilon, belief, reports = 1}) {
		const given = [gamma, epsilon, belief].filter(way => (way ?? null) !== null).length
		const numbers = belief ?? [gamma ?? (given ? Math.exp(epsilon) : 1)]
		const [low, high] = (numbers.every(Number.isFinite) ? numbers : [0]).map(decimal)
		const grown = high && {num: high.num * (low.den - low.num), den: low.num * (high.den - high.num)}
		const {num, den} = reduced(grown ?? low)
		if (given > 1 || den < 1n || num < den || !isWhole(reports, 1, Infinity)) {
			refuse("The limit makes no sense; give γ ≥ 1, ε ≥ 0, or a belief and what it may grow to.")
		}
		await this.change({limit: {gamma: given ? {num, den} : null, reports}})
	}

	toldTo(collector) {
		return this.told.filter(each => each.collector === collector)
	}

	reportsOf(collector, attribute) {
		return this.toldTo(collector).filter(each => sameName(each.attribute) === sameName(attribute))
	}

	total(collector, words) {
		const told = collector === null ? this.told : this.toldTo(collector)
		return {gamma: product(told), sentences: sentences(told, voice(words))}
	}

	async add(told, receipts, words) {
		const after = new Ledger({...this, told: [...this.told], receipts: [...this.receipts, ...receipts]})
		for (const each of told) {
			if (each.report !== null) after.permit(each, voice(words))
			after.told.push(each)
		}
		if (told.length + receipts.length) await this.change(after)
	}

	permit(entry, say) {
		const {collector: whom, attribute: name} = entry, {gamma, reports} = this.limit
		const stop = (kind, parts) => {
			const odds = gamma ? [say("limit.odds", {gamma: say.number(gamma)})] : []
			const limit = say.listed([...odds, say("limit.reports", {count: reports})])
			throw new LimitError(say(`limit.${kind}`, {whom, name, limit, ...parts}))
		}
		const count = this.reportsOf(whom, name).filter(each => each.report !== null).length
		if (count >= reports) stop("again", {count})
		if (!gamma) return
		const total = product([...this.toldTo(whom), entry]) ?? stop("unbounded")
		if (total.num * gamma.den > gamma.num * total.den) stop("beyond", {gamma: say.number(total, true)})
	}

	async change(changes) {
		await this.save?.(new Ledger({...this, ...changes}).dumps())
		Object.assign(this, changes)
	}
}
