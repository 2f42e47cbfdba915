// Checks of the documents that a device reads. A refusal is one sentence: what is wrong; what to do.

/**
 * Refuse with a sentence.
 * @param {string} sentence
 * @returns {never}
 */
export function refuse(sentence) {
  throw new Error(sentence);
}

/** The sentence of a damaged document. @param {string} what */
const damaged = (what) => `The ${what} is damaged; load it again.`;

/**
 * Refuse a document as damaged unless the condition holds.
 * @param {unknown} condition
 * @param {string} [what]
 * @returns {asserts condition}
 */
export function need(condition, what = "program") {
  if (!condition) refuse(damaged(what));
}

/**
 * Return the sentence of a refusal; any other error comes from a document without the form that the code relies on.
 * @param {unknown} error
 * @param {string} what
 */
export function sentenceOf(error, what) {
  const isRefusal = error instanceof Error && error.constructor === Error;
  return isRefusal ? error.message : damaged(what);
}

/**
 * Do work on a document; refuse the document where the work fails.
 * @template T
 * @param {string} what
 * @param {() => T} work
 * @returns {T}
 */
export function attempt(what, work) {
  try {
    return work();
  } catch (error) {
    return refuse(sentenceOf(error, what));
  }
}

/**
 * Refuse a document of a version that this device does not read.
 * @param {unknown} version
 * @param {string} what
 * @param {number} [newest]
 */
export function checkVersion(version, what, newest = 1) {
  if (Number(version) > newest) refuse(`The ${what} is of version ${version}; update the device.`);
  need(isWhole(version, 1, newest), what);
}

/**
 * Return whether x is a whole number from low to high.
 * @param {unknown} x
 * @param {number} low
 * @param {number} high
 * @returns {x is number}
 */
export function isWhole(x, low, high) {
  return typeof x === "number" && Number.isInteger(x) && low <= x && x <= high;
}

/** Whether all values are texts. @param {unknown[]} values */
export const areTexts = (values) => values.every((value) => typeof value === "string");
