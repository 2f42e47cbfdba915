// Domains, and the interpreter of drawing programs (docs/programs.md). Arithmetic chooses, so that time does not tell
// the answer.

import {readBaskets} from "./baskets.js"
import {
	below, canonical, checkVersion, codeOf, codesOf, freshWords, halves, isWhole, keyedWords, less, need, reasonOf,
	refuse, sha256, UNIT,
} from "./words.js"

const {floor} = Math
const clamped = (x, low, high) => Math.min(Math.max(x, low), high)

export function readDomain({low, high, integer, categories, items, columns}) {
	if (columns) {
		const names = Object.keys(columns), parts = names.map(name => readDomain(columns[name]))
		const value = row => {
			const found = names.map((name, j) => [name, parts[j].value(row?.[name])])
			return found.some(([, x]) => x === null) ? null : Object.fromEntries(found)
		}
		return {names, value}
	}
	const labels = categories ?? items, codes = labels?.map && codesOf(labels), count = codes?.size ?? items
	const place = item => codes ? codes.get(item) : isWhole(item, 0, items - 1) ? item : undefined
	const isKnown = item => place(item) !== undefined
	need(labels ? isWhole(count, 1, 2 ** 22) : [low, high].every(Number.isFinite) && low < high)
	const check = (answer, outside) => {
		if (categories) return isKnown(answer) ? answer : refuse("The answer is none of the categories; choose one.")
		if (items) {
			const isBasket = Array.isArray(answer) && answer.every(isKnown) && new Set(answer).size === answer.length
			if (!isBasket) refuse("The answer is no list of different items; mend it.")
			return [...answer].sort((a, b) => place(a) - place(b))
		}
		const x = outside === "clamp" ? clamped(answer, low, high) : answer
		const isSound = typeof answer === "number" && low <= x && x <= high && !(integer && x % 1)
		if (!isSound) refuse(`The answer is no ${integer ? "whole " : ""}number from ${low} to ${high}; correct it.`)
		return x + 0
	}
	const value = (answer, {missing, outside} = {}) => {
		if ((answer ?? NaN) === answer) return check(answer, outside)
		return missing === "refuse" ? refuse("The answer is missing; give one.") : null
	}
	return {labels: categories, count, place, value}
}

export const readMechanism = (spec, program) =>
	read(spec, program).catch(error => refuse(reasonOf(error, "program")))

async function read(spec, program) {
	const domain = readDomain(spec), parts = new Map()
	const {levels: written = {"": program}, default: usual = ""} = checked(program), levels = Object.keys(written)
	for (const name of levels) {
		const part = checked(written[name])
		const reader = part.kind === "select-a-size" ? readBaskets : part.columns ? readColumns : readProgram
		const {noise = {program: part}, ...found} = reader(part, domain)
		parts.set(name, {again: report => report, ...found, noise: await sha256(canonical({domain: spec, ...noise}))})
	}
	need(parts.has(usual))
	const at = name => parts.get(name ?? usual) ?? refuse(`The level is unknown; choose ${levels.join(" or ")}.`)
	return {
		parts, levels,
		default: usual,
		identity: await sha256(canonical({domain: spec, program})),
		value: domain.value,
		carries: (report, name) => parts.has(name ?? usual) && (report === null || at(name).carries(report)),
		again: (report, {level} = {}) => report === null ? null : at(level).again(report),
		async draw(answer, {level, secret, question} = {}) {
			const value = domain.value(answer), part = at(level)
			if (value === null) return null
			const codes = part.codes(value), count = part.words(codes)
			if (secret === undefined) return part.remember(codes, freshWords(count))
			if (!question) refuse("A secret needs a question; give one.")
			const code = codes.map ? await codeOf(codes) : codes
			return part.remember(codes, await keyedWords(secret, `${question}\0${part.noise}`, code, count))
		},
	}
}

const checked = program => checkVersion(program?.program, "program") && program

function readAlias(tables) {
	const size = tables[0].length, bits = Math.log2(size), entries = tables.flat().map(halves)
	const [high, low] = [0, 1].map(half => Uint32Array.from(entries, entry => entry[half]))
	return (column, wordHigh, wordLow) => {
		const place = wordHigh >>> (32 - bits), i = column * size + place
		const alias = low[i] & (size - 1), lower = ((high[i] << (32 - bits)) | (low[i] >>> bits)) >>> 0
		return alias + (place - alias) * less((wordHigh << bits) >>> bits, wordLow, high[i] >>> bits, lower)
	}
}

/** The slice of a code along a direction: z·x mod q. */
export function sliceOf(code, direction, {prime, digits, width}) {
	const places = prime ** digits, steps = width > 1 ? (prime - 1) / 2 : 1
	let place = (code + code * code % places * prime) % places, line = floor(direction / steps), found = 0
	for (let i = 1; i < digits && line--; i++) {
		found += line % prime * (place % prime)
		place = floor(place / prime)
		line = floor(line / prime)
	}
	return (found + place) % prime * (1 + direction % steps) % prime
}

export const directionsOf = ({prime, digits, width}) => (prime ** digits - 1) / (width > 1 ? 2 : prime - 1)
const isBelow = (share, high, low) => less(high >>> 1, ((high << 31) | (low >>> 1)) >>> 0, ...share)

// Each makes (code, high, low, …) → next code.
const STEPS = {
	__proto__: null,
	shift({noise, offset, outputs}) {
		const alias = readAlias([noise])
		return (code, high, low) => clamped(code + alias(0, high, low) - offset, 0, outputs - 1)
	},
	window({inside, window, others}) {
		const share = halves(inside)
		return (code, high, low, high2, low2) => {
			const hit = isBelow(share, high, low), place = below(high2, low2, others)
			const missed = place + window * (place >= code)
			return missed + (code + below(high2, low2, window) - missed) * hit
		}
	},
	slices(step) {
		const {inside, prime, width} = step, share = halves(inside), directions = directionsOf(step)
		need(isWhole(step.digits, 1, 20))
		return (code, high, low, high2, low2, high3, low3) => {
			const direction = below(high, low, directions), own = sliceOf(code, direction, step)
			const hit = isBelow(share, high2, low2), far = width + below(high3, low3, prime - width)
			return direction * prime + (own + far + (below(high3, low3, width) - far) * hit) % prime
		}
	},
	table: ({tables}) => readAlias(tables),
	map: ({codes: [...codes]}) => code => codes[code],
	spread({starts, outputs}) {
		const ends = [...starts.slice(1), outputs]
		return (code, high, low) => {
			const run = ends.reduce((count, end) => count + (end <= code), 0)
			return starts[run] + below(high, low, ends[run] - starts[run])
		}
	},
}
const WORDS = {slices: 3, window: 2, map: 0}

function readSteps(steps) {
	const draws = steps.map(step => STEPS[step.step](step)), words = steps.map(({step}) => WORDS[step] ?? 1)
	const run = (code, noise) => {
		let at = 0
		draws.forEach((draw, i) => {
			code = draw(code, ...noise.slice(at, at + 6))
			at += 2 * words[i]
		})
		return code
	}
	return {run, words: words.reduce((sum, count) => sum + count, 0)}
}

function readSpace({size, labels: own, first, stride, per, edges}, labels) {
	const names = labels && own?.length ? own : labels, codes = names && codesOf(names)
	const isGrid = edges ? edges.length === size + 1 : stride > 0, numbers = [per, ...edges ?? [first, stride]]
	need(names ? names.length === size : isGrid && per > 0 && numbers.every(Number.isInteger))
	const nearest = x => {
		const place = clamped((x * per - first) / stride, 0, size - 1), rest = place % 1
		return place - rest + ((rest > 0.5) | ((rest === 0.5) & place)) // halves to the even code
	}
	const cell = x => edges.slice(1, -1).reduce((count, edge) => count + (edge / per <= x), 0)
	const number = at => edges ? (edges[at] / per + edges[at + 1] / per) / 2 : (first + stride * at) / per
	return {
		number,
		code: names ? label => codes.get(label) : edges ? cell : nearest,
		value: code => need(isWhole(code, 0, size - 1)) && (names ? names[code] : number(code)),
		holds: names ? report => codes.has(report) : Number.isFinite,
	}
}

function readProgram({read, steps, write, permanent = steps.length, remembered = write}, {labels}) {
	const [memory, exit] = [remembered, write].map(space => readSpace(space, space.stride ? undefined : labels))
	const entry = readSpace(read, labels)
	const kept = steps.slice(0, permanent), first = readSteps(kept), later = readSteps(steps.slice(permanent))
	const {inside, ...shared} = steps[0] ?? {} // windows share one draw at every γ
	const sets = steps.length === 1 && shared.step === "slices" && {
		remember: (code, words) => ({seed: exit.value(first.run(code, words))}),
		again: ({seed}) => seed,
		carries: report => isWhole(report?.seed, 0, write.size - 1),
	}
	return {
		exit,
		draw: readSteps(steps).run,
		noise: {read, steps: permanent === 1 && shared.step === "window" ? [shared] : kept},
		codes: entry.code,
		words: () => first.words,
		remember: (code, words) => memory.value(first.run(code, words)),
		again: report => exit.value(later.run(memory.code(report), freshWords(later.words))),
		carries: memory.holds,
		...sets,
	}
}

// The noise of a column lies around a mixture of those before it.
function readColumns({columns}, {names}) {
	const spaces = columns.map(({noise, offset, weights: [...weights], ...space}) =>
		({...readSpace(space), offset, weights, alias: readAlias([noise])}))
	need(spaces.length === names.length)
	function draw(codes, words) {
		const steps = []
		spaces.forEach(({alias, offset, weights}, j) => {
			let sum = alias(0, words[4 * j], words[4 * j + 1]) - offset, rest = words[4 * j + 2]
			weights.forEach((weight, i) => {
				const high = floor(weight / UNIT)
				rest += (weight - high * UNIT) * steps[i]
				sum += high * steps[i] + floor(rest / UNIT)
				rest -= floor(rest / UNIT) * UNIT
			})
			steps.push(need(Math.abs(sum) <= 2 ** 20) && sum) // so that no product was rounded
		})
		return codes.map((code, j) => code + steps[j])
	}
	return {
		draw,
		codes: row => spaces.map((space, j) => space.code(row[names[j]])),
		words: () => 2 * names.length,
		remember: (codes, words) =>
			Object.fromEntries(draw(codes, words).map((code, j) => [names[j], spaces[j].number(code)])),
		carries: report => names.every(name => Number.isFinite(report[name])),
	}
}
