// The sentences of a survey's words, and the numbers and lists in them.

import { quotient, tens } from "./fractions.js";

const DIGITS = 4; // that count, of a number in a sentence
const LONGEST = 15; // digits of a number that is written out

/** @type {typeof import("./sfumato.js").voice} */
export function voice(words) {
  /** @param {string} name @param {Record<string, unknown>} [parts] */
  function say(name, parts = {}) {
    return (words[name] ?? name).replace(/\{(\w+)\}/g, (_, part) => `${parts[part]}`);
  }

  /** Put the language's own marks of thousands and decimals into a number. @param {string} text */
  function marked(text) {
    return text.replace(/[,.]/g, (mark) => words[mark === "," ? "number.group" : "number.decimal"]);
  }

  return Object.assign(say, {
    /** @param {import("./sfumato.js").Fraction} fraction @param {boolean} [up] */
    number({ num, den }, up) {
      const power = `${num / den}`.length - 1;
      const least = DIGITS - 1;
      const rounded = quotient(num * tens(least - power), den * tens(power - least), up);
      const isLonger = rounded === 10 ** DIGITS;
      const digits = isLonger ? rounded / 10 : rounded;
      const exponent = isLonger ? power + 1 : power;
      if (exponent >= LONGEST) return marked(`${digits / 10 ** least}e+${exponent}`);
      return marked((digits * 10 ** (exponent - least)).toLocaleString("en"));
    },

    /** @param {bigint} num @param {bigint} den */
    percent: (num, den) => marked(`${quotient(1000n * num, den, true) / 10} %`),

    /** @param {string[]} names */
    listed(names) {
      const distinct = [...new Set(names)];
      if (distinct.length < 2) return distinct[0] ?? "";
      return `${distinct.slice(0, -1).join(", ")} ${say("and")} ${distinct.at(-1)}`;
    },
  });
}
