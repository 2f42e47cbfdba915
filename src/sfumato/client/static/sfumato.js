// The device, which tells a collector the same thing once; sfumato.d.ts says more.

import {fraction, Ledger, sameName} from "./ledger.js"
import {readDomain, readMechanism} from "./mechanism.js"
import {areTexts, canonical, checkVersion, hex, hmac, need, reasonOf, refuse, sha256} from "./words.js"

export {Ledger, LimitError, voice} from "./ledger.js"
export {readMechanism} from "./mechanism.js"
export {predict, readModel} from "./model.js"

export async function readSurvey(document) {
	const {survey, plan, name, language, together, words} = document ?? {}
	checkVersion(survey, "survey")
	need(areTexts(name, language, together, Object.values(words ?? [0])) && document.questions?.map, "survey")
	const questions = await Promise.all(document.questions.map(readQuestion))
	const attributes = questions.map(({name, domain, mechanism: channel, missing, outside, role, question}) =>
		({name, domain, channel, missing, outside, role, question}))
	need(plan === await sha256(canonical({name, attributes})), "survey")
	return {...document, questions}
}

const CLEAR = {identity: null, levels: [""], default: "", carries: () => true, draw: x => x, again: x => x}

async function readQuestion(question) {
	const {name, domain, program, mechanism, columns, levels} = question ?? {}
	try {
		const blur = program === null ? {...readDomain(domain), ...CLEAR} : await readMechanism(domain, program)
		const own = [blur.identity, blur.default || null, Object.keys(domain.columns ?? {[name]: 0}), [...blur.levels].sort()]
		need(canonical(own) === canonical([mechanism, question.default, columns, Object.keys(levels).sort()]), "survey")
		const isTold = ({gamma, words}) => fraction(gamma) !== 0 && areTexts(Object.values(words))
		need(Object.values(levels).every(isTold), "survey")
		return {...question, blur}
	} catch (error) {
		return refuse(`${name}: ${reasonOf(error, "survey")}`)
	}
}

export function answer(survey, answers, {ledger = new Ledger(), ...options} = {}) {
	const work = () => answerNow(survey, answers, ledger, options)
	return (ledger.turn = Promise.resolve(ledger.turn).then(work, work)) // one by one
}

async function answerNow({plan, name: survey, questions, words}, answers, ledger, {secret, collector, levels, today}) {
	const whom = `${collector ?? ""}`.trim(), common = {collector: whom, survey}
	const day = today ?? new Date().toLocaleDateString("sv")
	if (!whom) refuse("The collector is empty; say who receives the reports.")
	const asked = questions.flatMap(({name, columns}) => [...columns, `${name}.level`])
	const stray = Object.keys(answers).find(column => !asked.includes(column))
	if (stray !== undefined) refuse(`${stray} is no question of this survey; drop it.`)
	const keyed = async (purpose, text) => hex(await hmac(secret, `sfumato/1/${purpose}\0${text}`)).slice(0, 32)
	const known = (question, mark, told) => told.find(each => each.collector === whom && isSame(question, each, mark))

	async function remember(question) {
		const {name: attribute, domain, mechanism, blur} = question, name = sameName(attribute)
		const value = blur.value(domain.columns ? answers : answers[attribute], question)
		const mark = await keyed("mark", await sha256(canonical([name, value])))
		const before = known(question, mark, ledger.told)
		if (before) return before
		const level = question.default && (levels?.[attribute] ?? answers[`${attribute}.level`] ?? question.default)
		const report = await blur.draw(value, {level, secret, question: JSON.stringify([whom, name])})
		const gamma = report === null ? "1" : question.levels[level ?? ""].gamma
		return {...common, attribute, domain, mechanism, level, mark, report, gamma, day}
	}

	const drafts = await Promise.all(questions.map(each =>
		remember(each).catch(({message}) => refuse(`${each.name}: ${message}`))))
	const entries = [...ledger.told], report = {}
	let isFresh = false
	const told = questions.map((question, i) => {
		const {name, columns, domain, program, blur, default: levelled} = question
		const found = known(question, drafts[i].mark, entries) ?? drafts[i]
		if (!entries.includes(found)) entries.push(found)
		const sent = blur.again(found.report, {level: levelled && found.level})
		for (const column of columns) report[column] = domain.columns && sent ? sent[column] : sent
		if (levelled) report[`${name}.level`] = found.level
		isFresh ||= sent !== null && (program?.levels?.[found.level] ?? program)?.permanent !== undefined
		return found
	})
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
