// Shipped models (shipping/forms.py). Sums run in Python's order: both name the same class. No file is believed:
// it must give a mass for every class.

import {readDomain} from "./mechanism.js"
import {attempt, checkVersion, codesOf, need, range, refuse} from "./words.js"

const added = parts => parts.reduce((sum, part) => sum + part, 0)
const keyOf = label => label === !!label ? +label : label // true and 1 are one label in Python

export const readModel = json => attempt("model", () => {
	const {format, version, device, model} = typeof json === "string" ? JSON.parse(json) : json
	if (format !== "sfumato-model") refuse("The file is no model of sfumato; fetch it again.")
	checkVersion(version, "model")
	const {classes, reads} = device ?? {}
	if (!classes?.length) refuse("The model has no classes, or no part for devices; save it again.")
	const decide = deciding(device, model, classes)
	return {classes, decide, reads: reads.map(question => ({...question, value: checkOf(question)}))}
})

export function predict({reads, classes, decide}, answers) {
	const values = reads.map(({name, value, ...rules}) => {
		try {
			if (!Object.hasOwn(answers, name)) refuse("The answer is not there; give one.")
			return value(answers[name], rules)
		} catch ({message}) {
			return refuse(`${name}: ${message}`)
		}
	})
	return attempt("model", () => {
		const {scores, weights = scores, rule = null} = decide(values), total = added(weights)
		need(scores.length === classes.length && weights.every(each => Number.isFinite(each) && each >= 0), "model")
		const probabilities = Object.fromEntries(classes.map((label, y) => [label, weights[y] / total]))
		return {label: classes[scores.indexOf(Math.max(...scores))], probabilities, rule}
	})
}

function checkOf({labels, ...domain}) {
	if (!labels) return domain.low === undefined ? (answer = null) => answer : readDomain(domain).value
	const {value} = readDomain({categories: labels.map(keyOf)})
	return (answer, rules) => value(keyOf(answer), rules)
}

function readColumn({labels, edges}) {
	const codes = labels && codesOf(labels.map(keyOf)), inner = edges?.slice(1, -1)
	const place = answer => {
		need(answer !== undefined, "model")
		if (codes) return codes.get(answer) ?? null
		return inner && answer !== null ? inner.filter(edge => edge <= answer).length : answer
	}
	return {place, size: codes?.size ?? inner?.length + 1}
}

const deciding = (part, model, classes) =>
	FORMS[part.form](part.form === "joint" ? model.members[0].model ?? model : part, classes, model)
const softened = scores => ({scores, weights: scores.map(score => Math.exp(score - Math.max(...scores)))})

const FORMS = {
	__proto__: null,
	// Who did not answer what everybody did is told by both sides; the rule is that of the larger.
	tree({columns, nodes}, classes) {
		const places = columns.map(column => readColumn(column).place)
		return answers => {
			const rule = new Map(), weights = [1], scores = classes.map(() => 0)
			let main = 0
			nodes.forEach(({counts, column, cut, left, right, missing_left, parts, said}, at) => {
				const weight = weights[at]
				if (!weight) return
				if (counts) return counts.forEach((count, y) => scores[y] += weight * count / added(counts))
				const value = places[column](answers[column]), unknown = value === null
				const goesLeft = +(unknown ? missing_left : cut.includes?.(value) ?? value < cut)
				if (at === main) {
					rule.set(column, said[unknown ? 2 : 1 - goesLeft])
					main = goesLeft ? left : right
				}
				const [low, high] = unknown && parts || [goesLeft, 1 - goesLeft]
				weights[left] = weight * low
				weights[right] = weight * high
			})
			return {scores: need(added(scores), "model") && scores, rule: [...rule.values()]}
		}
	},

	sum({start, terms}) {
		const addends = terms.map(readTerm)
		return answers => softened(start.map((from, y) => addends.reduce((sum, each) => sum + each(answers, y), from)))
	},

	// What several say, weighed, and rounded as in Python.
	pool({parts}, classes, {members}) {
		const deciders = parts.map((part, m) => deciding(part, members[m].model, classes))
		return answers => {
			const told = deciders.map(decide => decide(answers)).map(({scores, weights = scores}) => weights)
			return {scores: classes.map((_, y) => told.reduce((sum, weights, m) =>
				sum + parts[m].weight * Math.round(weights[y] / added(weights) * 2 ** 30) / 2 ** 30, 0))}
		}
	},

	joint({selected, members}, classes) {
		const joints = members.map(member => {
			const cells = member.cells.map(readColumn)
			const joint = (member.form === "grid" ? readGrid : readMixture)(member, cells, classes)
			return answers => joint(cells.map(({place}, i) => place(answers[selected[i]]))).map(mass => mass + 1e-300)
		})
		return answers => {
			const masses = joints.map(joint => joint(answers))
			return {scores: classes.map((_, y) => added(masses.map(mass => mass[y] / added(mass))) / masses.length)}
		}
	},
}

function readTerm({column, factors, missing, scores, peak, curve, mean, slope, least = -1 / 0, ...cells}) {
	const {place} = readColumn(cells)
	return (answers, y) => {
		if (factors) return factors.reduce((product, factor) => product * readTerm(factor)(answers, 0), slope[y])
		const x = place(answers[column])
		if (x === null) return missing[y]
		return scores ? scores[x][y] : Math.max(least, peak[y] - curve[y] * ((x - mean[y]) * (x - mean[y])) + slope[y] * x)
	}
}

function readGrid({joint}, cells, classes) {
	const masses = Float32Array.from(joint)
	const within = (start, places) => cells.reduce((starts, {size}, i) => starts.flatMap(from =>
		(places[i] === null ? range(size) : [places[i]]).map(cell => from * size + cell)), [start])
	return places => classes.map((_, y) => added(within(y, places).map(index => masses[index])))
}

// P(y, x) = Σ_z P(z) P(y | z) Π_j θ_j(x_j | z) N(x; mean_z, 1/precision_z).
const readMixture = ({weights, p_class, thetas, numbers = [], peaks, means, precisions}) => places => {
	const mass = thetas.reduce((before, theta, i) => {
		if (!theta || places[i] === null) return before
		const after = before.map((part, z) => part * theta[places[i]][z]), largest = Math.max(...after) || 1
		return after.map(part => part / largest)
	}, [...weights])
	const logs = mass.map((_, z) => {
		let rows = precisions?.[z] ?? []
		const away = numbers.map((i, a) => {
			if (places[i] !== null) return places[i] - means[z][a]
			const own = rows[a]
			mass[z] /= Math.sqrt(own[a])
			rows = rows.map(row => row.map((each, b) => each - row[a] / own[a] * own[b]))
			return 0
		})
		return (peaks?.[z] ?? 0) - added(rows.map((row, a) => away[a] * added(row.map((each, b) => each * away[b])))) / 2
	})
	const parts = mass.map((part, z) => part * exp(logs[z] - Math.max(...logs)))
	return p_class.map(share => added(parts.map((part, z) => part * share[z])))
}

// In Python's steps, for x up to 0.
const exp = x => x < -700 ? 0 : range(10).reduce(power => power * power,
	range(16).reduce((sum, i) => 1 + sum * x / 1024 / (16 - i), 1))
