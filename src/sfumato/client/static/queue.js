// What the page keeps, and its outbox: a message is sent by one tab at a time, until it is answered, and then never again.

const SOON = 2000, LATE = 900000, TIMEOUT = 30000, LEASE = 40000, DAY = 86400000;

/** {lasting, read(key), change(key, edit)}: in IndexedDB; where that is forbidden or fails, in this page alone.
 * `change` keeps what `edit` makes of what is kept (undefined: as it is), in one step whatever other tabs do. */
export async function openMemory() {
  const held = new Map();
  const database = await new Promise((done, fail) => {
    const opening = indexedDB.open("sfumato", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    opening.onsuccess = () => done(opening.result);
    opening.onerror = fail;
  }).catch(() => null);

  const inDatabase = (key, edit) => new Promise((done, fail) => {
    const step = database.transaction("kept", "readwrite", { durability: "strict" });
    const kept = step.objectStore("kept"), asked = kept.get(key);
    let made;
    asked.onsuccess = () => {
      held.set(key, structuredClone(asked.result));
      made = edit(asked.result);
      if (made !== undefined) kept.put(made, key);
    };
    step.oncomplete = () => done(made);
    step.onabort = fail;
  });

  const memory = {
    lasting: database !== null,
    async change(key, edit) {
      try {
        if (memory.lasting) return await inDatabase(key, edit);
      } catch {
        memory.lasting = false; // full, or taken away: what was read last is held here
      }
      const made = edit(structuredClone(held.get(key)));
      if (made !== undefined) held.set(key, made);
      return made;
    },
    async read(key) {
      let found;
      await memory.change(key, (kept) => { found = kept; });
      return found;
    },
  };
  return memory;
}

/** The whole message, as it is sent. */
export const messageText = ({ plan, id, report }) => JSON.stringify({ plan, reports: [{ id, report }] });

/** The outbox for one address: the messages in memory's record "device", by id; `tell` is called after each round.
 * waiting → sent or refused; withdraw → withdrawn or kept. Whoever sends a message takes it for the time of its LEASE. */
export function outbox(memory, address, tell) {
  let timer;
  const isOurs = ({ submit, state }) => submit === address && (state === "waiting" || state === "withdraw");
  const ours = async () => Object.values((await memory.read("device")).messages).filter(isOurs);
  const edit = (id, how) => memory.change("device", (device) => how(device.messages[id]) ? device : undefined);

  async function send() {
    clearTimeout(timer);
    for (const { id } of navigator.onLine ? await ours() : []) await attempt(id);
    const next = Math.min(...(await ours()).map((message) => message.next));
    tell();
    if (next < Infinity) timer = setTimeout(send, Math.min(Math.max(next - Date.now(), SOON / 4), 3 * SOON));
  }

  async function attempt(id) {
    let taken;
    await edit(id, (message) => {
      if (isOurs(message) && message.next <= Date.now()) taken = message;
      return taken && Object.assign(message, { next: Date.now() + LEASE, tries: message.tries + 1 });
    });
    if (!taken) return;
    const { state, tries } = taken, { wait, ...outcome } = await (state === "waiting" ? post(taken) : remove(taken));
    const next = wait === undefined ? 0 : Date.now() + Math.max(wait, backoff(tries));
    await edit(id, (message) => Object.assign(message, { next, reason: null }, message.state === state && outcome));
  }

  /** At once where it has never left, else by a request in its turn: not before an attempt under way has ended. */
  const withdraw = (id) => edit(id, (message) =>
    Object.assign(message, { state: message.tries ? "withdraw" : "withdrawn", reason: null })).then(send);
  return { send, withdraw };
}

/** 2 s, 4 s, 8 s … up to a quarter of an hour, up to half of it less by chance. */
const backoff = (tries) => Math.min(SOON * 2 ** (tries - 1), LATE) * (1 + Math.random()) / 2;

function post(message) {
  const request = { method: "POST", body: messageText(message), headers: { "Content-Type": "application/json" } };
  return answered(message.submit, request, (said) => {
    if (said?.accepted?.includes?.(message.id)) return { state: "sent" };
    const refusal = said?.refused?.find?.((each) => each?.id === message.id);
    return refusal && { state: "refused", reason: ["said", `${refusal.reason}`] };
  });
}

async function remove({ submit, id }) {
  const gone = { state: "withdrawn" }, outcome = await answered(`${submit}/${id}`, { method: "DELETE" }, () => gone);
  if (outcome.state !== "refused") return outcome;
  return [404, 410].includes(outcome.reason[1]) ? gone : { state: "kept", reason: outcome.reason };
}

/** What became of a request: what `read` makes of a good answer, a final refusal, or how long to wait at least. */
async function answered(address, request, read) {
  let response, said;
  try {
    const signal = AbortSignal.timeout?.(TIMEOUT);
    response = await fetch(address, { ...request, signal, credentials: "omit", cache: "no-store" });
    said = await response.json().catch(() => null);
  } catch {
    return { wait: 0, reason: ["connection"] };
  }
  const { ok, status, headers } = response, why = said?.reason ?? said?.refused?.[0]?.reason;
  if (ok) return read(said) ?? { wait: 0, reason: ["nonsense"] };
  const reason = why && status === 409 ? ["said", `${why}`] : ["status", status];
  if (status < 500 && ![408, 425, 429].includes(status)) return { state: "refused", reason };
  const after = headers.get("Retry-After"), wait = after > 0 ? 1000 * after : Date.parse(after) - Date.now();
  return { wait: Math.min(Math.max(wait || 0, 0), DAY), reason };
}
