// γ read off a drawing program: the largest ratio within a row of the law, {num, den}; null where it has no bound.
// The page does not load this: it comes from whoever states the γ. It is for those who have the device from elsewhere.

import {fraction, reduced} from "../ledger.js"
import {directionsOf, sliceOf} from "../mechanism.js"
import {isWhole, need, reasonOf, refuse} from "../words.js"

const WORD = 1n << 64n
const EXACT_WORK = 3e6 // multiplications up to which the γ of a chain is computed in whole numbers
const MOST_WORK = 5e8 // and up to which in doubles
const PRIMITIVE = [
	7, 11, 19, 37, 67, 137, 285, 529, 1033, 2053, 4179, 8219, 17475, 32771, 69643, 131081, 262273, 524327, 1048585,
	2097157, 4194307,
] // polynomials of degrees 2 to 22
const ONE = {num: 1n, den: 1n}
const larger = (a, b) => (a > b ? a : b)
const smaller = (a, b) => (a < b ? a : b)

/** Undefined for a report that never occurs, null for one that only some values rule out. */
const ratio = (num, den) => (den ? {num, den} : num ? null : undefined)
const ratioIn = row => ratio(row.reduce(larger), row.reduce(smaller))

function largest(ratios) {
	if (ratios.includes(null)) return null
	return ratios.reduce((a, b) => (b && !(a && a.num * b.den >= b.num * a.den) ? b : a), undefined) ?? ONE
}

/** The survey that `readSurvey` gave, if its programs are sound and every γ is that of its program; else it is refused. */
export function checkGammas(survey) {
	for (const {name, program, levels} of survey.questions) {
		for (const [level, {gamma}] of Object.entries(levels)) {
			const own = program && gammaOf(program.levels?.[level] ?? program)
			if (!isTrue(fraction(gamma), own)) refuse(`${name}: The program has another γ than the survey states; load it again.`)
		}
	}
	return survey
}

/** Whether a stated γ (null claims nothing) is the program's, to a billionth: that of large ones is computed in doubles. */
function isTrue(stated, own) {
	if (!stated || !own) return !stated
	const [a, b] = [stated.num * own.den, own.num * stated.den]
	return (a < b ? b - a : a - b) * 10n ** 9n < b
}

/** γ of the report that is remembered, of a program (of one level) that `readMechanism` has read. */
export function gammaOf(program) {
	try {
		return computed(program)
	} catch (error) {
		return refuse(reasonOf(error, "program"))
	}
}

function computed(program) {
	const {read, steps, permanent, items, sizes, columns} = program
	if (columns) return checkColumns(program)
	if (steps) checkSteps(program)
	const ofSizes = () => largest(sizes.map(size => gammaOfSize(size, items)))
	const found = sizes ? ofSizes() : gammaOfSteps(read.size, steps.slice(0, permanent))
	return found && reduced(found)
}

const INPUTS = {
	shift: () => null, // any
	slices: () => null, // any that the grid holds
	window: ({others}) => others + 1,
	table: ({tables}) => tables.length,
	map: ({codes}) => codes.length,
	spread: ({outputs}) => outputs,
}
const WORDS = {slices: 3, window: 2, map: 0}
const OUTPUTS = {
	slices: step => step.prime * directionsOf(step),
	window: ({window, others}) => window + others,
}

/** Each step takes the codes that the one before it gives, and sizes and the count of words are those stated. */
function checkSteps({words, read, steps, write, permanent = steps.length, remembered = write}) {
	const sizes = [read.size]
	for (const step of steps) {
		const {step: kind, tables = [step.noise ?? [0, 0]]} = step
		const before = sizes.at(-1)
		need((INPUTS[kind](step) ?? before) === before)
		sizes.push(OUTPUTS[kind]?.(step) ?? step.outputs)
		need(tables.every(table => table.length === tables[0].length) && isWhole(Math.log2(tables[0].length), 1, 22))
	}
	need(words === steps.reduce((sum, {step}) => sum + (WORDS[step] ?? 1), 0))
	need(sizes.every(size => isWhole(size, 1, 2 ** 20)))
	need(remembered.size === sizes[permanent] && write.size === sizes.at(-1))
}

/** Correlated noise has no γ. */
function checkColumns({words, columns}) {
	const isSound = ({weights, offset, noise}, j) =>
		weights.length === j && [offset, ...weights].every(Number.isSafeInteger) && isWhole(Math.log2(noise.length), 1, 22)
	return need(columns.every(isSound) && words === 2 * columns.length) && null
}

/** Of one step exactly, of several exactly where that is little work; else rounded up, never above any one step's. */
function gammaOfSteps(size, written) {
	const steps = []
	for (const step of written) {
		const inputs = steps.at(-1)?.outputs ?? size
		const found = {words: 1, inputs, outputs: step.outputs, ...LAWS[step.step](step, inputs, step.outputs)}
		steps.push({gamma: () => gammaOfRows([found], BigInt), ...found})
	}
	if (!steps.length) return size > 1 ? null : ONE
	if (steps.length === 1 || !steps.some(step => step.words)) return steps[0].gamma()
	const area = ({inputs, outputs}) => inputs * outputs
	const sum = (some, cost) => some.reduce((total, step, i) => total + cost(step, i), 0)
	const short = []
	for (const step of [...steps.slice(0, -1), steps.at(-1).short ?? steps.at(-1)]) {
		const before = step.codes && short.pop() // a map joins the step before it
		const joined = {next: (code, k) => step.next(before.next(code, k)), ...before?.through?.(step.codes)}
		short.push(before ? {...before, ...joined, outputs: step.outputs, through: undefined} : step)
	}
	const work = area(steps[0]) + sum(steps.slice(1), (step, i) => area(steps[i]) * step.outputs)
	if (work <= EXACT_WORK) return gammaOfRows(short, BigInt)
	const bounds = steps.map(step => step.gamma()).filter(Boolean)
	const light = sum(short, (step, i) => area(step) * (i ? size : 1)) <= MOST_WORK
	const rough = light && gammaOfRows(short, Number)
	let [number, den] = [rough ? rough.num / rough.den : Infinity, 10n ** 9n]
	for (; number % 1; number *= 2) den *= 2n
	if (number < Infinity) bounds.push({num: BigInt(number) * (10n ** 9n + 1n), den})
	return bounds.reduce((a, b) => (a && a.num * b.den < b.num * a.den ? a : b), null)
}

/** γ of steps one after the other, in whole numbers or in doubles. */
function gammaOfRows(steps, as) {
	const {inputs} = steps[0]
	let rows
	for (const step of steps) {
		const after = Array.from({length: step.outputs}, () => new Array(inputs).fill(as(0n)))
		let [weights, shares] = []
		for (let code = 0; code < step.inputs; code++) {
			const found = step.weights(code)
			if (found !== weights) [weights, shares] = [found, found.map(as)]
			shares.forEach((share, k) => {
				const row = share && (after[step.next(code, k)] ?? need(false))
				if (share && rows) rows[code].forEach((x, from) => (row[from] += share * x))
				else if (share) row[code] += share
			})
		}
		rows = after
	}
	return largest(rows.map(ratioIn))
}

// A step picks a number (`weights`: how many words pick each) and goes to the `next` code by it.
const LAWS = {
	shift({noise, offset}, inputs, outputs) {
		need(isWhole(offset, 0, 2 ** 21))
		const weights = once(() => weightsOf(noise))
		const sums = once(() => weights().reduce((found, x, i) => (found.push(found[i] + x), found), [0n]))
		const before = k => sums()[Math.min(Math.max(k, 0), noise.length)]
		return {
			weights,
			next: (code, k) => Math.min(Math.max(code + k - offset, 0), outputs - 1),
			/** With a map after it: a sum for every run of codes that go to one. */
			through(codes) {
				const ends = codes.flatMap((next, i) => (next === codes[i + 1] ? [] : [i + 1]))
				const upTo = (end, code) => before(end === outputs ? Infinity : end && end + offset - code)
				const share = code => (end, i) => upTo(end, code) - upTo(ends[i - 1] ?? 0, code)
				return {weights: code => ends.map(share(code)), next: (code, i) => codes[ends[i] - 1]}
			},
			/** End rows are sums that fall or rise with the code; inner rows slide along the weights. */
			gamma() {
				if (outputs === 1) return ONE
				const [low, high] = [offset - inputs + 1, offset + outputs - 1]
				const from = k => WORD - before(k)
				const ends = [ratio(before(offset + 1), before(low + 1)), ratio(from(high - inputs + 1), from(high))]
				const inner = Array.from({length: high - low - 1}, (_, i) => weights()[low + 1 + i] ?? 0n)
				const least = sliding(inner, inputs, smaller)
				return largest([...ends, ...sliding(inner, inputs, larger).map((most, i) => ratio(most, least[i]))])
			},
		}
	},

	window({inside, window, others}, inputs) {
		const near = BigInt(`0x${inside}`)
		const far = WORD / 2n - near
		need(isWhole(window, 1, 2 ** 20) && far >= 0n && (others || !far))
		const weights = once(() => [...wordsBelow(window).map(x => near * x), ...wordsBelow(others).map(x => far * x)])
		return {
			words: 2,
			outputs: window + others,
			weights,
			next: (code, k) => (k < window ? code + k : k - window * (k - window < code)),
			gamma: () => (others ? ratioIn(weights()) : ONE),
		}
	},

	slices(step, inputs) {
		const {inside, prime, digits, width} = step
		const [near, others] = [BigInt(`0x${inside}`), prime - width]
		const [far, places] = [WORD / 2n - near, prime ** digits]
		need(isPrime(prime) && isWhole(digits, 1, 20) && places >= inputs && places <= 2 ** 20 && far >= 0n)
		need(width === 1 || isWhole(width, 1, prime / 2) && OUTPUTS.slices(step) <= 2 ** 20)
		const slices = once(() => [...wordsBelow(width).map(x => near * x), ...wordsBelow(others).map(x => far * x)])
		return {
			words: 3,
			outputs: OUTPUTS.slices(step),
			weights: once(() => wordsBelow(directionsOf(step)).flatMap(words => slices().map(x => words * x))),
			next(code, k) {
				const direction = Math.floor(k / prime)
				return direction * prime + (sliceOf(code, direction, step) + k) % prime
			},
			gamma: () => (inputs > 1 ? ratioIn(slices()) : ONE), // the direction says nothing
		}
	},

	table: ({tables}) => ({weights: code => weightsOf(tables[code]), next: (code, k) => k}),
	map: ({codes}) => mapping(codes),

	spread({starts}, inputs, outputs) {
		need(starts.every((start, i) => (i ? start > starts[i - 1] : !start)))
		const sizes = starts.map((start, i) => (starts[i + 1] ?? outputs) - start)
		const runs = starts.flatMap((_, run) => new Array(sizes[run]).fill(run))
		return {
			weights: code => wordsBelow(sizes[runs[code]]),
			next: (code, k) => starts[runs[code]] + k,
			gamma: () => (starts.length > 1 ? null : ONE),
			short: {...mapping(runs), inputs, outputs: starts.length}, // the reports of a run have one ratio
		}
	},
}

function isPrime(number) {
	for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false
	return isWhole(number, 2, 2 ** 20)
}

function mapping(codes) {
	const gamma = () => (new Set(codes).size > 1 ? null : ONE)
	return {words: 0, weights: () => [1n], next: code => codes[code], gamma, codes}
}

/** What a function returns, computed when first asked for. */
function once(make) {
	let found
	return () => (found ??= make())
}

/** How many of the 2^64 words choose each code of an alias table. */
function weightsOf(table) {
	const [size, found] = [BigInt(table.length), new Array(table.length).fill(0n)]
	table.forEach((text, place) => {
		const entry = BigInt(`0x${text}`)
		found[place] += entry / size
		found[Number(entry % size)] += WORD / size - entry / size
	})
	return found
}

/** How many words lead `below` to each place. */
function wordsBelow(bound) {
	const first = place => (BigInt(place) * WORD + BigInt(bound - 1)) / BigInt(bound)
	return Array.from({length: bound}, (_, place) => first(place + 1) - first(place))
}

/** The best of every `width` neighbours: from the best so far in blocks of that width, forwards and backwards. */
function sliding(values, width, best) {
	const [ahead, back] = [[...values], [...values]]
	for (let i = 1; i < values.length; i++) if (i % width) ahead[i] = best(ahead[i - 1], ahead[i])
	for (let i = values.length - 1; i > 0; i--) if (i % width) back[i - 1] = best(back[i - 1], back[i])
	return back.slice(0, Math.max(values.length + 1 - width, 0)).map((x, i) => best(x, ahead[i + width - 1]))
}

/**
 * Of baskets: max_j (N + U[j]·E[j]/p0[j]) / min_j (N + L[j]·E[j]/p0[j]), both times 2^(128m). Much of U, L and p0 cancels:
 * of p0 is left 1/(j!·2^(bm)), of U and L how many words lead `below` to a number.
 */
function gammaOfSize({size, rho, kept, words, seed}, items) {
	const [m, a, depth] = [size, ...rho].map(BigInt)
	const bounds = kept.map(text => BigInt(`0x${text}`))
	need(rho.length === 2 && bounds.every((bound, j) => bound >= (bounds[j - 1] ?? 0n)) && a % 2n && a < 1n << depth)
	if (seed) checkSeed(seed, size, rho[1], items)
	need(words.bitmap === size + rho[1] * Math.ceil(items / 64))
	need(words.seed === (seed && 2 * size + Math.ceil(seed.bits / 64)))
	const noise = (WORD - bounds[size]) * WORD ** (2n * m)
	const [most, least] = [c => (WORD + c - 1n) / c, c => WORD / c].map(words =>
		bounds.map((bound, j) => {
			let chance = (bound - (bounds[j - 1] ?? 0n)) << (depth * m)
			for (let i = 1n; i <= m; i++) {
				chance *= i <= j ? i * words(m - i + 1n) * words(a) : WORD * words((1n << depth) - a)
			}
			return noise + chance
		}),
	)
	return {num: most.reduce(larger), den: least.reduce(smaller)}
}

/** Whether the numbers of any `independence` items are independent. */
function checkSeed({construction, bits, degree, independence, polynomial}, size, depth, items) {
	const bch = construction === "bch"
	const elements = bch ? Math.ceil((independence * depth) / 2) : independence
	const least = bch ? items * depth + 1 : Math.max(items, 2 ** depth)
	need((bch || construction === "polynomial") && PRIMITIVE[degree - 2] === polynomial && least <= 2 ** degree)
	need(isWhole(independence, size, items) && bits === degree * elements)
}
