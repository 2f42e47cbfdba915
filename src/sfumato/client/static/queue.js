// What the page keeps, and its outbox: a message is sent by one tab at a time, until it is answered, and then no more.

const SOON = 2000, LATE = 900000, TIMEOUT = 30000, LEASE = 40000, DAY = 86400000;

/** Keeps what `edit` makes of what is kept, in one step: in IndexedDB or, where that fails, in this page alone. */
export function openMemory() {
  let held;
  const opening = new Promise((done, fail) => {
    const asked = indexedDB.open("sfumato", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
    asked.onsuccess = () => done(asked.result);
    asked.onerror = fail;
  });
  const inDatabase = (edit) => opening.then((database) => new Promise((done, fail) => {
    const step = database.transaction("kept", "readwrite", { durability: "strict" });
    const kept = step.objectStore("kept"), asked = kept.get("device");
    let made;
    asked.onsuccess = () => {
      made = edit(held = asked.result);
      if (made !== held) kept.put(made, "device");
    };
    step.oncomplete = () => done(made);
    step.onabort = fail;
  }));
  const inPage = (edit) => {
    memory.lasting = false;
    return (held = edit(held));
  };
  opening.catch(() => null);
  const change = async (edit) => memory.lasting ? inDatabase(edit).catch(() => inPage(edit)) : inPage(edit);
  const memory = { lasting: true, change };
  return memory;
}

/** The whole message, as it is sent. */
export const messageText = ({ plan, id, report }) => JSON.stringify({ plan, reports: [{ id, report }] });

/** Messages to one address: waiting becomes sent or refused, withdraw becomes withdrawn or kept. A tab that sends one
 * takes it for a LEASE; `tell` is called after each round. */
export function outbox(memory, address, tell) {
  let timer;
  const isOpen = ({ submit, state }) => submit === address && ["waiting", "withdraw"].includes(state);
  const open = async () => Object.values((await memory.change((device) => device)).messages).filter(isOpen);
  const edit = (id, how) => memory.change(({ messages, ...device }) =>
    ({ ...device, messages: { ...messages, [id]: { ...messages[id], ...how(messages[id]) } } }));

  async function send() {
    clearTimeout(timer);
    for (const { id } of navigator.onLine ? await open() : []) await attempt(id);
    tell();
    if ((await open()).length) timer = setTimeout(send, SOON);
  }

  async function attempt(id) {
    let taken;
    await edit(id, (message) => {
      taken = isOpen(message) && message.next <= Date.now() && { ...message, tries: message.tries + 1 };
      return taken && { tries: taken.tries, next: Date.now() + LEASE };
    });
    if (!taken) return;
    const { wait, ...outcome } = await request(taken);
    const pause = Math.min(SOON * 2 ** (taken.tries - 1), LATE) * (1 + Math.random()) / 2; // 2 s, 4 s, 8 s … or less
    const next = outcome.state ? 0 : Date.now() + Math.max(wait, pause);
    await edit(id, ({ state }) => ({ reason: null, next, ...state === taken.state && outcome }));
  }

  // at once where it has never left, else by a request, once an attempt under way has ended
  const withdraw = (id) =>
    edit(id, ({ tries }) => ({ state: tries ? "withdraw" : "withdrawn", reason: null })).then(send);
  return { send, withdraw };
}

/** What became of a message: its next state, or why and how long it has to wait. */
async function request(message) {
  const { id, submit, state } = message, isNew = state === "waiting", headers = { "Content-Type": "application/json" };
  const how = isNew ? { method: "POST", body: messageText(message), headers } : { method: "DELETE" };
  let response, said;
  try {
    const signal = AbortSignal.timeout(TIMEOUT);
    response = await fetch(isNew ? submit : `${submit}/${id}`, { ...how, signal, credentials: "omit" });
    said = await response.json().catch(() => null);
  } catch {
    return { wait: 0, reason: ["connection"] };
  }
  const { ok, status } = response, why = said?.refused?.find?.((each) => each?.id === id)?.reason ?? said?.reason;
  if (isNew && ok && said?.accepted?.includes?.(id)) return { state: "sent" };
  if (!isNew && (ok || status === 404 || status === 410)) return { state: "withdrawn" };
  const reason = why ? ["said", `${why}`] : ok ? ["nonsense"] : ["status", status];
  const isFinal = ok ? why : status < 500 && ![408, 425, 429].includes(status);
  if (isFinal) return { state: isNew ? "refused" : "kept", reason };
  const after = response.headers.get("Retry-After"), wait = after > 0 ? 1000 * after : Date.parse(after) - Date.now();
  return { wait: Math.min(Math.max(wait || 0, 0), DAY), reason };
}
