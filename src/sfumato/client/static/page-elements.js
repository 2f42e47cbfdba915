// The elements of the page. Texts are set as text, never as HTML: the page permits no script but its own.

/**
 * The content of an element: texts, elements, properties, lists of them; nothing where a condition is false.
 * @typedef {string | number | Node | { [property: string]: unknown } | null | undefined | false} Part
 * @typedef {Part | Part[] | (Part | Part[])[]} Content
 */

/** The element with an id. @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** The field with an id. @param {string} id */
export const inputById = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/**
 * Return all elements that a CSS selector matches.
 * @param {string} selector
 * @returns {NodeListOf<HTMLElement>}
 */
export const allOf = (selector) => document.querySelectorAll(selector);

/**
 * List the texts, elements and properties of a content; a number and its percent sign stay on one line.
 * @param {Content} content
 * @returns {(string | Node | Record<string, unknown>)[]}
 */
function partsOf(content) {
  if (Array.isArray(content)) return content.flatMap(partsOf);
  if (content === null || content === undefined || content === false || content === "") return [];
  if (typeof content === "string") return [content.replaceAll(" %", "\u00a0%")];
  return typeof content === "number" ? [`${content}`] : [/** @type {Node} */ (content)];
}

/**
 * Replace what an element shows.
 * @param {string} id
 * @param {Content[]} contents
 */
export function fill(id, ...contents) {
  byId(id).replaceChildren(.../** @type {(string | Node)[]} */ (contents.flatMap(partsOf)));
}

/**
 * Make an element; `kind` is a tag, or a tag and a class: "p.note".
 * @param {string} kind
 * @param {Content[]} contents
 */
export function make(kind, ...contents) {
  const [tag, className = ""] = kind.split(".");
  const element = document.createElement(tag);
  element.className = className;
  for (const part of contents.flatMap(partsOf)) {
    if (part instanceof Node || typeof part === "string") element.append(part);
    else Object.assign(element, part);
  }
  return element;
}

/** Make a list item for each text. @param {string[]} texts */
export const makeItems = (texts) => texts.map((text) => make("li", text));

/**
 * Make a line with a button to choose it, or a box to tick it.
 * @param {Record<string, unknown>} properties of the input
 * @param {Content[]} contents
 */
export function makeChoice(properties, ...contents) {
  return make("label.pick", make("input", properties), make("span", ...contents));
}

/**
 * Save a text as a file.
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  const href = URL.createObjectURL(new Blob([text]));
  make("a", { href, download: name }).click();
}

/**
 * Show above the step what is wrong; nothing without a text.
 * @param {string} [text]
 */
export function showTrouble(text) {
  fill("trouble", text);
  const inputs = document.querySelectorAll("#asked input");
  for (const input of inputs) input.ariaInvalid = `${Boolean(text)}`;
  if (text && inputs.length) /** @type {HTMLInputElement} */ (inputs[0]).focus();
}
