// What the rest stands on: refusals, noise, hashes. A word of noise is two halves of 32 bits; several are one array
// [high, low, high, low, …].

const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto
const MOST = 2 ** 14 // getRandomValues fills no more at once
export const UNIT = 2 ** 32

export function refuse(sentence) {
	throw new Error(sentence)
}

const damage = what => `The ${what} is damaged; load it again.`
export const need = (sound, what = "program") => sound || refuse(damage(what))
export const reasonOf = (error, what) => error.constructor === Error ? error.message : damage(what)

export function attempt(what, work) {
	try {
		return work()
	} catch (error) {
		return refuse(reasonOf(error, what))
	}
}

export function checkVersion(version, what, newest = 1) {
	if (version > newest) refuse(`The ${what} is of version ${version}; update the device.`)
	return need(isWhole(version, 1, newest), what)
}

export const isWhole = (x, low, high) => Number.isInteger(x) && low <= x && x <= high
export const areTexts = (...values) => values.flat().every(value => typeof value === "string")
export const range = length => [...Array(length).keys()]
export const codesOf = labels => new Map(labels.map((label, code) => [label, code]))
export const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("")

export function halves(text) {
	need(/^[0-9a-f]{16}$/.test(text))
	return [0, 8].map(from => parseInt(text.slice(from, from + 8), 16))
}

// ⌊word · bound / 2^64⌋ for bounds up to 2^21: no product is rounded.
export const below = (high, low, bound) => Math.floor((high * bound + Math.floor(low * bound / UNIT)) / UNIT)

export const less = (aHigh, aLow, bHigh, bLow) => (aHigh < bHigh) | ((aHigh === bHigh) & (aLow < bLow))

export function freshWords(count) {
	const words = new Uint32Array(2 * count)
	for (let at = 0; at < words.length; at += MOST) crypto.getRandomValues(words.subarray(at, at + MOST))
	return words
}

export async function keyedWords(secret, context, code, count) {
	const message = encoded(`sfumato/1\0${context}\0${"\0".repeat(12)}`), words = new Uint32Array(2 * count)
	const tail = new DataView(message.buffer, message.length - 12)
	tail.setBigUint64(0, BigInt(code))
	for (let i = 0; 4 * i < count; i++) {
		tail.setUint32(8, i)
		const block = new DataView((await hmac(secret, message)).buffer)
		for (let j = 0; j < 8; j++) words[8 * i + j] = block.getUint32(4 * j)
	}
	return words
}

const subtle = () =>
	crypto.subtle ?? refuse("Browsers lend no cryptography over plain HTTP; open the page by https.")
const encoded = data => typeof data === "string" ? new TextEncoder().encode(data) : data
let last = {}

export async function hmac(secret, data) {
	if (!(secret instanceof Uint8Array && secret.length > 15)) refuse("The secret is not 16 bytes or more; make one.")
	const name = `${secret}`
	if (last.name !== name) {
		last = {name, key: await subtle().importKey("raw", secret, {name: "HMAC", hash: "SHA-256"}, false, ["sign"])}
	}
	return new Uint8Array(await subtle().sign("HMAC", last.key, encoded(data)))
}

export const sha256 = async data => hex(new Uint8Array(await subtle().digest("SHA-256", encoded(data))))

export async function codeOf(numbers) {
	return BigInt(`0x${(await sha256(new BigUint64Array(numbers.map(BigInt)))).slice(0, 16)}`)
}

export function canonical(value) {
	if (typeof value === "number") return Number.isInteger(value) ? `${BigInt(value)}` : `"${decimal(value)}"`
	if (Array.isArray(value)) return `[${value.map(canonical)}]`
	if (Object(value) !== value) return JSON.stringify(value)
	const keys = Object.keys(value).map(key => [hex(encoded(key)), key]).sort() // by code points, as Python does
	return `{${keys.map(([, key]) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`
}

const decimal = x => Math.abs(x) < 1e-4 ? x.toExponential().replace(/-(\d)$/, "-0$1") : `${x}` // 1e-05, as in Python
