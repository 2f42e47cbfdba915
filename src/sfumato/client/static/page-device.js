// The device's settings on the page: the limit on what a collector may learn, and secret and ledger as a file.

import { bytesOf, hex } from "./hashes.js";
import { Ledger } from "./ledger.js";
import { download, inputById } from "./page-elements.js";
import { recall, sentence } from "./page-state.js";

/**
 * @import { Device } from "./memory.js"
 * @import { Destination, Page } from "./page-state.js"
 */

const SUSPICION = 5; // percent: the page asks for a limit as what a suspicion of this size may grow to

/**
 * Show the limits of the ledger in the fields.
 * @param {Ledger} ledger
 */
export function showLimit({ limit: { gamma, reports } }) {
  const odds = BigInt(100 / SUSPICION - 1);
  inputById("belief").value = gamma ? `${(100n * gamma.num) / (gamma.num + odds * gamma.den)}` : "";
  inputById("times").value = `${reports}`;
}

/**
 * Set the limits to what is in the fields.
 * @param {Page} page
 */
export function setLimit(page) {
  return changeDevice(page, { done: "limit.done", wrong: "error.limit" }, async (ledger) => {
    const belief = Number(inputById("belief").value) / 100;
    const reports = Number(inputById("times").value);
    await ledger.setLimit({ belief: belief ? [SUSPICION / 100, belief] : undefined, reports });
    return { ledger: ledger.dumps() };
  });
}

/** Save secret and ledger as a file. @param {Page} page */
export async function saveDevice(page) {
  const { secret, ledgerText } = await recall(page);
  download("sfumato-device.json", JSON.stringify({ device: 1, secret: hex(secret), ledger: JSON.parse(ledgerText) }));
}

/**
 * Take the secret of a saved device, and join its ledger with the one here.
 * @param {Page} page
 * @param {File} file
 */
export async function restoreDevice(page, file) {
  const text = await file.text();
  return changeDevice(page, { done: "device.restored", wrong: "device.wrong" }, async (own) => {
    const { device, secret, ledger } = JSON.parse(text);
    const { told, receipts, limit } = Ledger.loads(JSON.stringify(ledger));
    if (device !== 1 || !/^([0-9a-f]{2}){16,}$/.test(secret)) throw new Error("The file is no saved device.");
    const joined = new Ledger({
      told: union(told, own.told),
      receipts: union(receipts, own.receipts),
      limit,
    });
    return { secret: bytesOf(secret), ledger: joined.dumps() };
  });
}

/**
 * Join two lists, each entry once.
 * @template T
 * @param {T[]} some
 * @param {T[]} others
 */
function union(some, others) {
  return [...new Map([...some, ...others].map((entry) => [JSON.stringify(entry), entry])).values()];
}

/**
 * Change the device unless another tab did meanwhile, and say whether it worked.
 * @param {Page} page
 * @param {{ done: string, wrong: string }} sentences
 * @param {(ledger: Ledger) => Promise<Partial<Device>>} edit
 * @returns {Promise<Destination>}
 */
async function changeDevice(page, { done, wrong }, edit) {
  try {
    const { ledger, ledgerText } = await recall(page);
    const changes = await edit(ledger);
    await page.memory.change((device) => (device.ledger === ledgerText ? { ...device, ...changes } : device));
    return { step: page.step, trouble: sentence(page, done) };
  } catch (error) {
    throw new Error(sentence(page, wrong), { cause: error });
  }
}
