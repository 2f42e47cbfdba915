// The outbox: it sends the waiting messages and withdraws others until there is an answer; one tab at a time.

/** @import { Memory, Message } from "./memory.js" */

/**
 * The outcome of a request: the state that the message ends in, or how many milliseconds to wait at least.
 * @typedef {{ state?: Message["state"], reason?: Message["reason"], wait?: number }} Outcome
 */

// Times in milliseconds, by judgement: a person sees the first tries, a page left open must not burden a server.
const FIRST_PAUSE = 2_000; // doubled after every try
const LONGEST_PAUSE = 15 * 60_000;
const LONGEST_WAIT = 24 * 3_600_000; // that a server may ask for, as in client/wire.py
const TIMEOUT = 30_000; // of one request, for slow connections
const TRY_LATER = [408, 425, 429]; // statuses below 500 that are not final

/**
 * Write the body of a request, as the page shows it.
 * @param {Pick<Message, "plan" | "id" | "report" | "invitation">} message
 */
export function messageText({ plan, id, report, invitation }) {
  return JSON.stringify({ plan, reports: [{ id, report, invitation }] });
}

/**
 * Open the outbox of one address; `onChange` is called whenever messages have changed.
 * @param {Memory} memory
 * @param {string | null} address
 * @param {() => void} onChange
 */
export function openOutbox(memory, address, onChange) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** Whether a message is still to be sent or withdrawn. @param {Message} message */
  const isOpen = ({ submit, state }) => submit === address && (state === "waiting" || state === "withdraw");

  /** Read the messages that are still to be sent or withdrawn. */
  async function openMessages() {
    const { messages } = await memory.change((device) => device);
    return Object.values(messages).filter(isOpen);
  }

  /** Change a message and return it. @param {string} id @param {(message: Message) => Partial<Message>} changes */
  async function edit(id, changes) {
    const { messages } = await memory.change((device) => {
      const message = device.messages[id];
      return { ...device, messages: { ...device.messages, [id]: { ...message, ...changes(message) } } };
    });
    return messages[id];
  }

  /** Try every open message whose time has come, and come back while there are any. */
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

  /** Try once to send or to withdraw a message. @param {string} id */
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
   * Withdraw a message; one that was never tried needs no request.
   * @param {string} id
   */
  async function withdraw(id) {
    await edit(id, ({ tries }) => ({ state: tries ? "withdraw" : "withdrawn", reason: null }));
    await send();
  }

  return { send, withdraw };
}

/**
 * Post a new message, or delete a withdrawn one.
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
 * Return the outcome of a post: sent, if the collector names the id among those it accepted.
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
 * Return the outcome of a deletion: a report that is not there, or no longer, is withdrawn as well.
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
 * Return the outcome of a request that failed: final, or how long to wait, and the reason.
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
 * Read a Retry-After header, a number of seconds or a date, as milliseconds from now.
 * @param {string | null} retryAfter
 */
function waitOf(retryAfter) {
  const seconds = Number(retryAfter);
  const wait = seconds > 0 ? 1000 * seconds : Date.parse(retryAfter ?? "") - Date.now();
  return Math.min(Math.max(wait || 0, 0), LONGEST_WAIT);
}
