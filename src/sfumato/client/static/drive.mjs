// The client behind the protocol of `sfumato audit` (docs/how-to/audit-a-plan.md): lines of JSON in, lines of JSON out.
//   sfumato audit plan.toml --program "node drive.mjs"

import {answer, readSurvey} from "./sfumato.js"

const COLLECTOR = "https://audit.example"

// A call of the system for each draw would be most of an audit's time: what it gives is handed out from a pool.
const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto
const fromSystem = crypto.getRandomValues.bind(crypto), pool = new Uint8Array(65536)
let used = pool.length
crypto.getRandomValues = array => {
	const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
	if (bytes.length > pool.length) return fromSystem(array)
	if (used + bytes.length > pool.length) {
		fromSystem(pool)
		used = 0
	}
	bytes.set(pool.subarray(used, (used += bytes.length)))
	return array
}

const newSecret = () => crypto.getRandomValues(new Uint8Array(32))
const bytes = hex => Uint8Array.from(hex.match(/../g), digits => parseInt(digits, 16))

/** A table by columns as a list of rows, and back. */
const rowsOf = table => {
	const columns = Object.entries(table)
	return columns[0][1].map((_, i) => Object.fromEntries(columns.map(([name, column]) => [name, column[i]])))
}
const columnsOf = rows => Object.fromEntries(Object.keys(rows[0]).map(name => [name, rows.map(row => row[name])]))

let survey

async function begin(request) {
	survey = await readSurvey(request.survey)
	return {audit: 1, keys: true, people: true}
}

/** One question: what a device remembers of each answer, and what it sends of that. */
async function ask({ask: name, true: answers, level, keys, questions}) {
	const {blur} = survey.questions.find(each => each.name === name)
	const how = {level}
	const reports = []
	for (const value of Array.isArray(answers) ? answers : rowsOf(answers)) {
		if (keys) Object.assign(how, {secret: bytes(keys[reports.length]), question: questions[reports.length]})
		reports.push(blur.again(await blur.draw(value, how), how))
	}
	return {reports: Array.isArray(answers) ? reports : columnsOf(reports)}
}

/** All questions, as a device answers them: each person has a secret, and nothing was told before. */
async function people({people: table, keys}) {
	const reports = []
	for (const answers of rowsOf(table)) {
		const secret = keys ? bytes(keys[reports.length]) : newSecret()
		reports.push((await answer(survey, answers, {secret, collector: COLLECTOR})).report)
	}
	return {reports: columnsOf(reports)}
}

const kindOf = request => (request.survey ? begin : request.people ? people : ask)

async function* lines(stream) {
	let parts = []
	for await (const chunk of stream) {
		let from = 0
		for (let at; (at = chunk.indexOf("\n", from)) >= 0; from = at + 1) {
			yield Buffer.concat([...parts, chunk.subarray(from, at)]).toString()
			parts = []
		}
		parts.push(chunk.subarray(from))
	}
}

for await (const line of lines(process.stdin)) {
	const request = JSON.parse(line)
	const said = await kindOf(request)(request).catch(error => ({error: error.message}))
	process.stdout.write(`${JSON.stringify(said)}\n`)
}
