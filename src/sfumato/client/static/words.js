// Random words of 64 bits. JavaScript has no fast whole numbers of that size: a word is two halves of 32 bits, and
// several words are one array [high, low, high, low, …].

import { need } from "./checks.js";
import { crypto, encoded, hmac, sha256 } from "./hashes.js";

export const UNIT = 2 ** 32;
const LARGEST_FILL = 2 ** 14; // numbers of 32 bits: getRandomValues fills 65,536 bytes at once (Web Crypto)
const WORDS_IN_BLOCK = 4; // of 8 bytes each, in an HMAC-SHA-256

/**
 * Split a word that is written as 16 hexadecimal digits into two halves.
 * @param {string} text
 * @returns {[high: number, low: number]}
 */
export function halves(text) {
  need(/^[0-9a-f]{16}$/.test(text));
  return [parseInt(text.slice(0, 8), 16), parseInt(text.slice(8), 16)];
}

/**
 * Return ⌊word · bound / 2^64⌋, a whole number below the bound; for bounds up to 2^21 no product is rounded.
 * @param {number} high
 * @param {number} low
 * @param {number} bound
 */
export function below(high, low, bound) {
  return Math.floor((high * bound + Math.floor((low * bound) / UNIT)) / UNIT);
}

/**
 * Return 1 if the word a is less than the word b, else 0, by the same work for all words.
 * @param {number} aHigh
 * @param {number} aLow
 * @param {number} bHigh
 * @param {number} bLow
 */
export function less(aHigh, aLow, bHigh, bLow) {
  return Number(aHigh < bHigh) | (Number(aHigh === bHigh) & Number(aLow < bLow));
}

/**
 * Draw words of the system's secure randomness.
 * @param {number} count
 */
export function freshWords(count) {
  const words = new Uint32Array(2 * count);
  for (let at = 0; at < words.length; at += LARGEST_FILL) crypto.getRandomValues(words.subarray(at, at + LARGEST_FILL));
  return words;
}

/**
 * Draw words by a secret for one question and one code: the same ones whenever it is asked again.
 * Block i is HMAC-SHA-256(secret, "sfumato/1" ‖ 00 ‖ context ‖ 00 ‖ code ‖ i).
 * @param {Uint8Array} secret
 * @param {string} context
 * @param {number | bigint} code
 * @param {number} count
 */
export async function keyedWords(secret, context, code, count) {
  const message = encoded(`sfumato/1\0${context}\0${"\0".repeat(12)}`);
  const tail = new DataView(message.buffer, message.length - 12);
  tail.setBigUint64(0, BigInt(code));
  const words = new Uint32Array(2 * count);
  for (let i = 0; WORDS_IN_BLOCK * i < count; i++) {
    tail.setUint32(8, i);
    const block = new DataView((await hmac(secret, message)).buffer);
    for (let j = 0; j < 2 * WORDS_IN_BLOCK; j++) words[2 * WORDS_IN_BLOCK * i + j] = block.getUint32(4 * j);
  }
  return words;
}

/**
 * Hash several codes into one: the first 8 bytes of the SHA-256 of all, each in 8 bytes, least significant first.
 * @param {number[]} codes
 */
export async function hashedCode(codes) {
  const hash = await sha256(new BigUint64Array(codes.map(BigInt)));
  return BigInt(`0x${hash.slice(0, 16)}`);
}
