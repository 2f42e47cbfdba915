// What the page keeps, and its outbox: one tab at a time sends a message until answered.

const SOON = 2000, LATE = 900000, DAY = 86400000

const settled = (asked, good = "onsuccess", bad = "onerror") => new Promise((done, fail) => {
	asked[good] = () => done(asked.result)
	asked[bad] = fail
})

export function openMemory() {
	let held, opening
	const open = () => {
		const asked = indexedDB.open("sfumato", 1)
		asked.onupgradeneeded = () => asked.result.createObjectStore("kept")
		return settled(asked)
	}
	const inDatabase = async edit => {
		const step = (await (opening ??= open())).transaction("kept", "readwrite", {durability: "strict"})
		const kept = step.objectStore("kept")
		const made = edit(held = await settled(kept.get("device")))
		if (made !== held) kept.put(made, "device")
		await settled(step, "oncomplete", "onabort")
		return made
	}
	const inPage = edit => {
		memory.lasting = false
		return (held = edit(held))
	}
	const memory = {
		lasting: true,
		change: async edit => memory.lasting ? inDatabase(edit).catch(() => inPage(edit)) : inPage(edit),
	}
	return memory
}

export const messageText = ({plan, id, report, invitation}) =>
	JSON.stringify({plan, reports: [{id, report, invitation}]})

// To one address: waiting becomes sent or refused, withdraw withdrawn or kept.
export function outbox(memory, address, tell) {
	let timer
	const isOpen = ({submit, state}) => submit === address && ["waiting", "withdraw"].includes(state)
	const open = async () => Object.values((await memory.change(device => device)).messages).filter(isOpen)
	const edit = (id, how) => memory.change(({messages, ...device}) =>
		({...device, messages: {...messages, [id]: {...messages[id], ...how(messages[id])}}}))

	async function send() {
		clearTimeout(timer)
		await navigator.locks.request("sfumato", async () => {
			for (const {id, next} of navigator.onLine ? await open() : []) if (next <= Date.now()) await attempt(id)
		})
		tell()
		if ((await open()).length) timer = setTimeout(send, SOON)
	}

	async function attempt(id) {
		const {[id]: message} = (await edit(id, ({tries}) => ({tries: tries + 1}))).messages
		if (!isOpen(message)) return
		const {wait, ...outcome} = await request(message)
		const pause = Math.min(SOON * 2 ** (message.tries - 1), LATE) * (1 + Math.random()) / 2
		const next = outcome.state ? 0 : Date.now() + Math.max(wait, pause)
		await edit(id, ({state}) => ({reason: null, next, ...state === message.state && outcome}))
	}

	const withdraw = id => edit(id, ({tries}) => ({state: tries ? "withdraw" : "withdrawn", reason: null})).then(send)
	return {send, withdraw}
}

async function request(message) {
	const {id, submit, state} = message, isNew = state === "waiting", headers = {"Content-Type": "application/json"}
	const how = isNew ? {method: "POST", body: messageText(message), headers} : {method: "DELETE"}
	let response, said
	try {
		const signal = AbortSignal.timeout(30000), address = isNew ? submit : `${submit}/${id}`
		response = await fetch(address, {...how, signal, credentials: "omit"})
		said = await response.json().catch(() => null)
	} catch {
		return {wait: 0, reason: ["connection"]}
	}
	const {ok, status} = response, why = said?.refused?.find?.(each => each?.id === id)?.reason ?? said?.reason
	if (isNew && ok && said?.accepted?.includes?.(id)) return {state: "sent"}
	if (!isNew && (ok || status === 404 || status === 410)) return {state: "withdrawn"}
	const reason = why ? ["said", `${why}`] : ok ? ["nonsense"] : ["status", status]
	const isFinal = ok ? why : status < 500 && ![408, 425, 429].includes(status)
	if (isFinal) return {state: isNew ? "refused" : "kept", reason}
	const after = response.headers.get("Retry-After"), wait = after > 0 ? 1000 * after : Date.parse(after) - Date.now()
	return {wait: Math.min(Math.max(wait || 0, 0), DAY), reason}
}
