// The device, which tells a collector the same thing once; sfumato.d.ts says more.

import {fraction, Ledger, sameName} from "./ledger.js"
import {readDomain, readMechanism} from "./mechanism.js"
import {
	areTexts, canonical, checkVersion, hex, hmac, isWhole, keyedWords, need, range, reasonOf, refuse, sha256,
} from "./words.js"

export {Ledger, LimitError, voice} from "./ledger.js"
export {readMechanism} from "./mechanism.js"
export {predict, readModel} from "./model.js"

export async function readSurvey(document) {
	const {survey, plan, name, language, together, words, questions_each} = document ?? {}
	checkVersion(survey, "survey", 2)
	need(areTexts(name, language, together, Object.values(words ?? [0])) && document.questions?.map, "survey")
	const questions = await Promise.all(document.questions.map(readQuestion))
	const attributes = questions.map(({name, domain, mechanism: channel, missing, outside, role, question}) =>
		({name, domain, channel, missing, outside, role, question}))
	const drawn = questions_each ? questions.filter(({role}) => role === "attribute") : [], blank = {}
	need((survey > 1) === isWhole(questions_each, 1, drawn.length - 1) &&
		plan === await sha256(canonical({name, ...questions_each && {questions_each}, attributes})), "survey")
	for (const {name, columns, default: level} of questions) {
		for (const column of columns) blank[column] = null
		if (level) blank[`${name}.level`] = level
	}
	return {...document, questions, drawn, blank}
}

export async function asks({plan, questions, questions_each, drawn}, {secret, collector}) {
	const words = await keyedWords(secret, JSON.stringify([collector.trim(), plan, "asked"]), 0, drawn.length)
	const byWord = (i, j) => words[2 * i] - words[2 * j] || words[2 * i + 1] - words[2 * j + 1]
	const left = range(drawn.length).sort(byWord).slice(questions_each).map(i => drawn[i])
	return questions.filter(each => !left.includes(each))
}

const CLEAR = {identity: null, levels: [""], default: "", carries: () => true, draw: x => x, again: x => x}

async function readQuestion(question) {
	const {name, domain, program, mechanism, columns, levels} = question ?? {}
	try {
		const blur = program === null ? {...readDomain(domain), ...CLEAR} : await readMechanism(domain, program)
		const own = [blur.identity, blur.default || null, Object.keys(domain.columns ?? {[name]: 0}), [...blur.levels].sort()]
		need(canonical(own) === canonical([mechanism, question.default, columns, Object.keys(levels).sort()]) &&
			Object.values(levels).every(({gamma, words}) => fraction(gamma) !== 0 && areTexts(Object.values(words))), "survey")
		return {...question, blur}
	} catch (error) {
		return refuse(`${name}: ${reasonOf(error, "survey")}`)
	}
}

export function answer(survey, answers, {ledger = new Ledger(), ...options} = {}) {
	const work = () => answerNow(survey, answers, ledger, options)
	return (ledger.turn = Promise.resolve(ledger.turn).then(work, work)) // one by one
}

async function answerNow(read, answers, ledger, {secret, collector, levels, today}) {
	const {plan, name: survey, blank, words} = read
	const whom = `${collector ?? ""}`.trim(), common = {collector: whom, survey}
	const entries = [...ledger.told], told = [], report = {...blank}, day = today ?? new Date().toLocaleDateString("sv")
	if (!whom) refuse("The collector is empty; say who receives the reports.")
	for (const column of Object.keys(answers)) {
		if (!Object.hasOwn(blank, column)) refuse(`${column} is no question of this survey; drop it.`)
	}
	const keyed = async (purpose, text) => hex(await hmac(secret, `sfumato/1/${purpose}\0${text}`)).slice(0, 32)

	async function remember(question) {
		const {name: attribute, domain, mechanism, blur} = question, name = sameName(attribute)
		const value = blur.value(domain.columns ? answers : answers[attribute], question)
		const mark = await keyed("mark", await sha256(canonical([name, value])))
		const before = entries.find(each => each.collector === whom && isSame(question, each, mark))
		if (before) return before
		const level = question.default && (levels?.[attribute] ?? answers[`${attribute}.level`] ?? question.default)
		const report = await blur.draw(value, {level, secret, question: JSON.stringify([whom, name])})
		const gamma = report === null ? "1" : question.levels[level ?? ""].gamma
		return {...common, attribute, domain, mechanism, level, mark, report, gamma, day}
	}

	let isFresh
	for (const question of await asks(read, {secret, collector})) {
		const {name, columns, domain, program, blur, default: levelled} = question
		const found = await remember(question).catch(({message}) => refuse(`${name}: ${message}`))
		told.push(found)
		if (!entries.includes(found)) entries.push(found)
		const sent = blur.again(found.report, {level: levelled && found.level})
		for (const column of columns) report[column] = domain.columns && sent ? sent[column] : sent
		if (levelled) report[`${name}.level`] = found.level
		isFresh ||= sent !== null && (program?.levels?.[found.level] ?? program)?.permanent !== undefined
	}
	const digest = (await sha256(canonical(report))).slice(0, 32)
	const before = ledger.receipts.filter(each => each.collector === whom && each.plan === plan)
	const same = !isFresh && before.find(each => each.digest === digest)
	const id = same?.id ?? await keyed("id", JSON.stringify([whom, plan, before.length]))
	await ledger.add(entries.slice(ledger.told.length), same ? [] : [{...common, plan, id, digest, day}], words)
	return {plan, id, report, told}
}

// Whether what was told can be sent here; a seed or a row only by the mechanism that drew it.
function isSame({blur, domain, mechanism, default: levelled}, told, mark) {
	const isSeed = told.report?.seed !== undefined
	const fits = told.mechanism === mechanism || (told.mechanism && mechanism && !domain.columns && !isSeed)
	return fits && told.mark === mark && canonical(told.domain) === canonical(domain) &&
		blur.carries(told.report, levelled && `${told.level}`)
}
