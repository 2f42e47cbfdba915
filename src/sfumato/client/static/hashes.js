// SHA-256, HMAC, and the JSON text that identities are hashes of (docs/programs.md).

import { refuse } from "./checks.js";

/** The Web Cryptography of the browser or of Node; Node 18 does not have it as a global. */
export const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

/** Return the functions for hashes, or refuse where the browser lends none. */
function subtle() {
  return crypto.subtle ?? refuse("Browsers lend no cryptography over plain HTTP; open the page by https.");
}

/** A text in UTF-8. @param {string} text */
export const encoded = (text) => new TextEncoder().encode(text);

/** Bytes as hexadecimal digits. @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Hexadecimal digits as bytes. @param {string} digits */
export const bytesOf = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/**
 * Return the SHA-256 hash of a text or of bytes as hexadecimal digits.
 * @param {string | BufferSource} data
 */
export async function sha256(data) {
  const bytes = typeof data === "string" ? encoded(data) : data;
  return hex(new Uint8Array(await subtle().digest("SHA-256", bytes)));
}

/** The key of the last secret: an answer needs many hashes under it, and to import it takes longer than a hash. */
const imported = { secret: "", key: /** @type {CryptoKey | null} */ (null) };

/** Import a secret as a key for HMAC; one that is too short is refused. @param {Uint8Array<ArrayBuffer>} secret */
async function keyOf(secret) {
  if (!(secret instanceof Uint8Array && secret.length >= 16)) {
    refuse("The secret is not 16 bytes or more; make one.");
  }
  const name = `${secret}`;
  if (imported.key && imported.secret === name) return imported.key;
  const key = await subtle().importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  Object.assign(imported, { secret: name, key });
  return key;
}

/**
 * Return the HMAC-SHA-256 of a text or of bytes under a secret.
 * @param {Uint8Array} secret
 * @param {string | Uint8Array<ArrayBuffer>} data
 */
export async function hmac(secret, data) {
  const key = await keyOf(/** @type {Uint8Array<ArrayBuffer>} */ (secret));
  const bytes = typeof data === "string" ? encoded(data) : data;
  return new Uint8Array(await subtle().sign("HMAC", key, bytes));
}

/**
 * Write JSON with sorted keys and without spaces, in which a number that is not whole is text, as Python writes it.
 * @param {unknown} value
 * @returns {string}
 */
export function canonical(value) {
  if (typeof value === "number") return Number.isInteger(value) ? `${BigInt(value)}` : `"${shortest(value)}"`;
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = sortedKeys(value).map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${entries}}`;
}

/**
 * Whether a value is an object.
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
const isObject = (value) => Object(value) === value;

/**
 * Sort the keys of an object by code points, as Python does; JavaScript itself sorts by UTF-16 units.
 * @param {object} value
 */
function sortedKeys(value) {
  const pairs = Object.keys(value).map((key) => [hex(encoded(key)), key]);
  return pairs.sort().map(([, key]) => key);
}

/**
 * Write a number with the fewest digits, as Python does: 1e-05.
 * @param {number} x
 */
function shortest(x) {
  return Math.abs(x) < 1e-4 ? x.toExponential().replace(/-(\d)$/, "-0$1") : `${x}`;
}
