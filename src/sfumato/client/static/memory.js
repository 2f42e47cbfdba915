// What the page keeps between visits: one record in the browser's database, or in the page itself where that fails.

/**
 * A device as it is kept: its secret, its ledger as text, and its messages.
 * @typedef {object} Device
 * @property {Uint8Array} secret
 * @property {string} ledger
 * @property {Record<string, Message>} messages by their id
 */

/**
 * A report and its way to the collector: "waiting" becomes "sent" or "refused", "withdraw" becomes "withdrawn" or
 * "kept" (at the collector); a report in the state "file" was saved as a file.
 * @typedef {object} Message
 * @property {string} id
 * @property {string} plan
 * @property {Record<string, unknown>} report
 * @property {string} [invitation]
 * @property {string | null} submit the address that it is sent to
 * @property {"waiting" | "sent" | "refused" | "withdraw" | "withdrawn" | "kept" | "file"} state
 * @property {(string | number)[] | null} [reason] why it is in this state: a name, and what the server said
 * @property {number} tries
 * @property {number} next the time of the next try, in milliseconds
 */

/**
 * The place where the page keeps the device.
 * @typedef {object} Memory
 * @property {boolean} isLasting whether what is kept outlives the page
 * @property {(edit: (device: Device) => Device) => Promise<Device>} change read the device, and keep its edited form
 */

/**
 * Wait for the result of a request to the database.
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function resultOf(request) {
  return new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = fail;
  });
}

/** Wait until a transaction is written. @param {IDBTransaction} transaction */
function completed(transaction) {
  return new Promise((done, fail) => {
    transaction.oncomplete = done;
    transaction.onabort = fail;
  });
}

/** Open the page's database, made where there is none. */
function openDatabase() {
  const opening = indexedDB.open("sfumato", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
  return resultOf(opening);
}

/**
 * Open the memory of the device; where the database fails, the device is kept in the page until it closes.
 * @returns {Memory}
 */
export function openMemory() {
  /** The device as it was last read or changed. @type {Device} */
  let device;
  /** @type {Promise<IDBDatabase> | undefined} */
  let database;

  /** @param {(device: Device) => Device} edit */
  async function changeInDatabase(edit) {
    database ??= openDatabase();
    const transaction = (await database).transaction("kept", "readwrite", { durability: "strict" });
    const store = transaction.objectStore("kept");
    device = await resultOf(store.get("device"));
    const changed = edit(device);
    if (changed !== device) store.put(changed, "device");
    await completed(transaction);
    return changed;
  }

  /** @param {(device: Device) => Device} edit */
  function changeInPage(edit) {
    memory.isLasting = false;
    device = edit(device);
    return device;
  }

  /** @type {Memory} */
  const memory = {
    isLasting: true,
    async change(edit) {
      if (!memory.isLasting) return changeInPage(edit);
      return changeInDatabase(edit).catch(() => changeInPage(edit));
    },
  };
  return memory;
}
