// Drawing programs of baskets (docs/programs-baskets.md); the same work for every basket and outcome.

import {below, halves, hex, isWhole, less, need, range, refuse} from "./words.js"

const select = (condition, yes, no) => (yes & -condition) | (no & ~-condition)
const zeros = length => Array(length).fill(0)

function trimmed(words, bits) {
	const row = new Uint8Array(Uint32Array.from({length: 2 * Math.ceil(bits / 64)}, (_, i) => words[i ^ 1]).buffer)
	row[bits >> 3] &= 2 ** (bits & 7) - 1
	return row.fill(0, (bits >> 3) + 1)
}

export function readBaskets({items, sizes}, {count, place}) {
	const known = new Map(sizes.map(part => [part.size, readSize(part, items)]))
	need(items === count && known.size === sizes.length)
	const form = sizes.every(({seed}) => seed) ? "seed" : "bitmap"
	const sized = ({length}) =>
		known.get(length) ?? refuse(`A basket here has ${[...known.keys()].join(" or ")} items; add or drop some.`)
	return {
		known,
		codes: answer => [answer].flat().map(place),
		words: members => sized(members).words[form],
		remember: (members, words) => ({size: members.length, [form]: hex(sized(members)[form](members, words))}),
		carries: report => known.has(report.size),
	}
}

function readSize({size, rho: [threshold, depth], kept, seed: written}, items) {
	const bounds = kept.map(halves), width = Math.ceil(items / 64)
	need(isWhole(size, 0, 1000) && bounds.length === size + 1 && isWhole(depth, 1, 16) && threshold < 2 ** depth)
	const field = written && readSeed(written, size, depth)
	const words = {bitmap: size + depth * width, seed: field && 2 * size + Math.ceil(field.bits / 64)}

	// How many show (size + 1: pure noise), and all in random order, those that show first.
	function choose(members, words) {
		const order = [...members]
		for (let i = 0; i < size - 1; i++) {
			const other = i + below(words[2 * i + 2], words[2 * i + 3], size - i), item = order[other]
			order[other] = order[i]
			order[i] = item
		}
		return [bounds.reduce((count, bound) => count + 1 - less(words[0], words[1], ...bound), 0), order]
	}

	function bitmap(members, words) {
		const [shown, order] = choose(members, words)
		const plane = d => trimmed(words.subarray(2 * (size + d * width)), items)
		const bits = plane(0)
		for (let d = 1; d < depth; d++) {
			plane(d).forEach((coins, i) => (bits[i] = (threshold >> d) & 1 ? bits[i] | coins : bits[i] & coins))
		}
		order.forEach((item, i) => {
			const drawn = bits[item >> 3], bit = 1 << (item & 7)
			bits[item >> 3] = select(shown > size, drawn, select(i < shown, drawn | bit, drawn & ~bit))
		})
		return bits
	}

	function seed(members, words) {
		const [shown, order] = choose(members, words)
		const uniform = field.elements(trimmed(words.subarray(4 * size), field.bits))
		const wrong = order.map((item, i) => {
			const [high, low] = words.subarray(2 * (size + i))
			const hidden = threshold + below(high, low, 2 ** depth - threshold)
			return field.number(uniform, item) ^ select(i < shown, below(high, low, threshold), hidden)
		})
		field.change(order, wrong).forEach((x, c) => (uniform[c] ^= x & -(shown <= size)))
		return field.row(uniform)
	}
	return {words, field, bitmap, seed}
}

// A seed is a row of elements of GF(2^degree); every item's number is linear in their bits.
function readSeed({construction, bits, degree, polynomial}, size, depth) {
	const isBch = construction === "bch", count = bits / degree, order = 2 ** degree - 1
	need(isWhole(degree, 2, 22) && isWhole(count, isBch ? 1 : size, 2 ** 30 / (size * depth) ** 2))

	function multiply(a, b) {
		let product = 0
		for (let i = degree - 1; i >= 0; i--) {
			product = (product << 1) ^ (polynomial & -(product >> (degree - 1))) ^ (a & -((b >> i) & 1))
		}
		return product
	}

	function power(a, exponent) {
		let found = 1
		for (let i = degree - 1; i >= 0; i--) found = multiply(multiply(found, found), select((exponent >> i) & 1, a, 1))
		return found
	}

	function interpolated(points, values) {
		for (let r = 1; r < size; r++) {
			for (let i = size - 1; i >= r; i--) {
				values[i] = multiply(values[i] ^ values[i - 1], power(points[i] ^ points[i - r], order - 1))
			}
		}
		const times = (found, i) => found.map((x, c) => multiply(x, points[i]) ^ (found[c - 1] ?? values[i]))
		return values.reduceRight((found, _, i) => times(found, i), zeros(size))
	}

	const rows = item =>
		range(depth).map(bit => range(count).map(c => power(2, ((item * depth + bit) * (2 * c + 1)) % order)))

	// By elimination; an equation's lowest bit is its pivot.
	function solved(order, wanted) {
		const right = (i, bit) => (wanted[i] >> (depth - 1 - bit)) & 1
		const equations = order.flatMap((item, i) => rows(item).map((row, bit) => [...row, right(i, bit)]))
		const pivots = equations.map(equation => {
			const c = equation.findIndex(Boolean), pivot = equation[c] & -equation[c]
			for (const other of equations) {
				const held = -(other !== equation && (other[c] & pivot) !== 0)
				equation.forEach((x, i) => (other[i] ^= x & held))
			}
			return [c, pivot]
		})
		const change = zeros(count)
		pivots.forEach(([c, pivot], i) => (change[c] |= pivot & -equations[i][count]))
		return change
	}

	function repacked(from, width, to, newWidth) {
		for (let i = 0; i < bits; i++) {
			to[Math.floor(i / newWidth)] |= ((from[Math.floor(i / width)] >>> i % width) & 1) << i % newWidth
		}
		return to
	}

	const parity = x => [16, 8, 4, 2, 1].reduce((sum, by) => sum ^ (sum >> by), x) & 1
	const inner = (row, elements) => parity(row.reduce((sum, x, c) => sum ^ (x & elements[c]), 0))
	const valueAt = (elements, item) => elements.reduceRight((sum, element) => multiply(sum, item) ^ element, 0)
	return {
		bits,
		elements: row => repacked(row, 8, zeros(count), degree),
		row: elements => repacked(elements, degree, new Uint8Array(Math.ceil(bits / 8)), 8),
		number: isBch
			? (elements, item) => rows(item).reduce((number, row) => 2 * number + inner(row, elements), 0)
			: (elements, item) => valueAt(elements, item) & (2 ** depth - 1),
		change: isBch ? solved : interpolated,
	}
}
