// Where noise comes from and what things are named by: 64-bit words, HMAC, hashes and canonical JSON.
// A word is two halves of 32 bits; several are a Uint32Array [high, low, high, low, …].

const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
const encode = (text) => new TextEncoder().encode(text);

export function refuse(sentence) {
  throw new Error(sentence);
}

const subtle = () =>
  crypto.subtle ?? refuse("This page came over plain HTTP, where browsers lend no cryptography; open it by https.");

const pool = new Uint32Array(1 << 10); // getRandomValues gives no more than 16 times as much
let used = pool.length;

/** Words that nobody can predict; the pool forgets them. */
export function freshWords(count) {
  const words = new Uint32Array(2 * count);
  for (let at = 0; at < words.length; ) {
    if (used === pool.length) crypto.getRandomValues(pool.subarray((used = 0)));
    const taken = pool.subarray(used, used + words.length - at);
    words.set(taken, at);
    taken.fill(0);
    at += taken.length;
    used += taken.length;
  }
  return words;
}

/** The words of a device that answers alike every time; the code is a number or BigInt. */
export async function keyedWords(secret, question, noise, code, count) {
  if (!question) refuse("A secret needs a question, so that no two share their noise; give one.");
  const message = new Uint8Array([...encode(`sfumato/1\0${question}\0${noise}\0`), ...new Array(12)]);
  const tail = new DataView(message.buffer, message.length - 12);
  tail.setBigUint64(0, BigInt(code));
  const words = new Uint32Array(2 * count);
  for (let i = 0; 4 * i < count; i++) {
    tail.setUint32(8, i);
    const block = new DataView((await hmac(secret, message)).buffer);
    for (let j = 0; j < 8; j++) words[8 * i + j] = block.getUint32(4 * j);
  }
  return words;
}

let last = {};

/** HMAC-SHA-256 under a secret of 16 bytes or more. */
export async function hmac(secret, bytes) {
  if (!(secret instanceof Uint8Array && secret.length > 15)) refuse("The secret is not 16 bytes or more; make one.");
  const name = String(secret);
  if (last.name !== name) {
    last = { name, key: await subtle().importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]) };
  }
  return new Uint8Array(await subtle().sign("HMAC", last.key, bytes));
}

/** SHA-256 of text or bytes, in hexadecimal. */
export async function sha256(data) {
  return hex(new Uint8Array(await subtle().digest("SHA-256", typeof data === "string" ? encode(data) : data)));
}

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The code of several whole numbers: the first 8 bytes of their SHA-256, each in 8 bytes, least significant first. */
export async function codeOf(numbers) {
  return BigInt(`0x${(await sha256(new BigUint64Array(numbers.map(BigInt)))).slice(0, 16)}`);
}

/** JSON with sorted keys and no spaces, in which numbers are integers or else text. */
export function canonical(value) {
  if (typeof value === "number") return Number.isInteger(value) ? `${BigInt(value)}` : `"${decimal(value)}"`;
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (Object(value) !== value) return JSON.stringify(value);
  const keys = Object.keys(value).sort((a, b) => (codePoints(a) < codePoints(b) ? -1 : 1));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
}

/** As Python prints it: 1e-05. */
const decimal = (x) => (Math.abs(x) < 1e-4 ? x.toExponential().replace(/-(\d)$/, "-0$1") : String(x));

/** A key that sorts texts by code points, which UTF-16 does not. */
const codePoints = (text) => Array.from(text, (letter) => letter.codePointAt(0).toString(16).padStart(6, "0")).join();
