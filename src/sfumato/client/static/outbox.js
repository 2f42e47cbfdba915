// Sends what waits, and withdraws what shall be withdrawn, until there is an answer; one tab at a time.

/** @import { Memory, Message } from "./memory.js" */

/**
 * What a request came to: the state that the message ends in, or how many milliseconds to wait at least.
 * @typedef {{ state?: Message["state"], reason?: Message["reason"], wait?: number }} Outcome
 */

const FIRST_PAUSE = 2_000; // milliseconds, doubled after every try
const LONGEST_PAUSE = 15 * 60_000;
const LONGEST_WAIT = 24 * 3_600_000; // that a server may ask for
const TIMEOUT = 30_000;
const TRY_LATER = [408, 425, 429]; // statuses below 500 that are not final

/**
 * The body of a request, as the page shows it.
 * @param {Pick<Message, "plan" | "id" | "report" | "invitation">} message
 */
export function messageText({ plan, id, report, invitation }) {
  return JSON.stringify({ plan, reports: [{ id, report, invitation }] });
}

/**
 * The outbox of one address; `onChange` is called whenever messages have changed.
 * @param {Memory} memory
 * @param {string | null} address
 * @param {() => void} onChange
 */
export function openOutbox(memory, address, onChange) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @param {Message} message */
  const isOpen = ({ submit, state }) => submit === address && (state === "waiting" || state === "withdraw");

  async function openMessages() {
    const { messages } = await memory.change((device) => device);
    return Object.values(messages).filter(isOpen);
  }

  /** @param {string} id @param {(message: Message) => Partial<Message>} changes */
  async function edit(id, changes) {
    const { messages } = await memory.change((device) => {
      const message = device.messages[id];
      return { ...device, messages: { ...device.messages, [id]: { ...message, ...changes(message) } } };
    });
    return messages[id];
  }

  async function send() {
    clearTimeout(timer);
    await navigator.locks.request("sfumato", async () => {
      if (!navigator.onLine) return;
      for (const { id, next } of await openMessages()) {
        if (next <= Date.now()) await trySending(id);
      }
    });
    onChange();
    if ((await openMessages()).length) timer = setTimeout(send, FIRST_PAUSE);
  }

  /** @param {string} id */
  async function trySending(id) {
    const message = await edit(id, ({ tries }) => ({ tries: tries + 1 })); // before: what may have left counts as a try
    if (!isOpen(message)) return; // another tab was faster
    const { wait = 0, ...outcome } = await request(message);
    const pause = Math.min(FIRST_PAUSE * 2 ** (message.tries - 1), LONGEST_PAUSE);
    const randomPause = (pause * (1 + Math.random())) / 2; // devices do not come back all at once
    const next = outcome.state ? 0 : Date.now() + Math.max(wait, randomPause);
    await edit(id, ({ state }) => {
      const isUnchanged = state === message.state; // or else it was withdrawn meanwhile
      return { reason: null, next, ...(isUnchanged && outcome) };
    });
  }

  /**
   * Withdraw a message: what never left needs no request.
   * @param {string} id
   */
  async function withdraw(id) {
    await edit(id, ({ tries }) => ({ state: tries ? "withdraw" : "withdrawn", reason: null }));
    await send();
  }

  return { send, withdraw };
}

/**
 * @param {Message} message
 * @returns {Promise<Outcome>}
 */
async function request(message) {
  const { id, submit, state } = message;
  const isNew = state === "waiting";
  const options = isNew
    ? { method: "POST", body: messageText(message), headers: { "Content-Type": "application/json" } }
    : { method: "DELETE" };
  try {
    const address = isNew ? `${submit}` : `${submit}/${id}`;
    const signal = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(address, { ...options, signal, credentials: "omit" });
    const verdict = await response.json().catch(() => null);
    return isNew ? outcomeOfSending(id, response, verdict) : outcomeOfWithdrawing(id, response, verdict);
  } catch {
    return { reason: ["connection"] };
  }
}

/**
 * @param {string} id
 * @param {Response} response
 * @param {any} verdict
 * @returns {Outcome}
 */
function outcomeOfSending(id, response, verdict) {
  if (response.ok && verdict?.accepted?.includes?.(id)) return { state: "sent" };
  return failure(id, response, verdict, "refused");
}

/**
 * What is not there, or no longer, is withdrawn as well.
 * @param {string} id
 * @param {Response} response
 * @param {any} verdict
 * @returns {Outcome}
 */
function outcomeOfWithdrawing(id, response, verdict) {
  if (response.ok || response.status === 404 || response.status === 410) return { state: "withdrawn" };
  return failure(id, response, verdict, "kept");
}

/**
 * @param {string} id
 * @param {Response} response
 * @param {any} verdict
 * @param {"refused" | "kept"} finalState
 * @returns {Outcome}
 */
function failure(id, { ok, status, headers }, verdict, finalState) {
  const refusal = verdict?.refused?.find?.((/** @type {any} */ refused) => refused?.id === id);
  const why = refusal?.reason ?? verdict?.reason;
  const reason = why ? ["said", `${why}`] : ok ? ["nonsense"] : ["status", status];
  const isFinal = ok ? Boolean(why) : status < 500 && !TRY_LATER.includes(status);
  if (isFinal) return { state: finalState, reason };
  return { wait: waitOf(headers.get("Retry-After")), reason };
}

/**
 * Milliseconds by a header of seconds or of a date.
 * @param {string | null} retryAfter
 */
function waitOf(retryAfter) {
  const seconds = Number(retryAfter);
  const wait = seconds > 0 ? 1000 * seconds : Date.parse(retryAfter ?? "") - Date.now();
  return Math.min(Math.max(wait || 0, 0), LONGEST_WAIT);
}
