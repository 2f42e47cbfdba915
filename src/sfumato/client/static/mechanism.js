// The mechanism that blurs the answers to one question: a domain, and a drawing program for each level to choose.

import { readBaskets } from "./baskets.js";
import { checkVersion, need, refuse, sentenceOf } from "./checks.js";
import { readDomain } from "./domain.js";
import { canonical, sha256 } from "./hashes.js";
import { readColumns, readProgram } from "./program.js";
import { freshWords, hashedCode, keyedWords } from "./words.js";

/**
 * @import { Domain, LevelProgram, Program, ProgramOfLevels } from "./documents.js"
 * @import { DomainReader } from "./domain.js"
 * @import { Part } from "./program.js"
 */

/** @type {typeof import("./sfumato.js").readMechanism} */
export async function readMechanism(spec, program) {
  try {
    return await read(spec, program);
  } catch (error) {
    return refuse(sentenceOf(error, "program"));
  }
}

/**
 * Read the mechanism of a domain and a program, and compute its identity.
 * @param {Domain} spec
 * @param {Program} program
 */
async function read(spec, program) {
  const domain = readDomain(spec);
  checkVersion(program?.program, "program");
  const { levels: programs, default: usual } = "levels" in program ? program : onlyLevel(program);
  const levels = Object.keys(programs);
  /** @type {Map<string, Part & { noise: string }>} */
  const parts = new Map();
  for (const level of levels) parts.set(level, await readLevel(programs[level], spec, domain));
  need(parts.has(usual));

  /** Return the program of a level, of the default one without a name; or refuse. @param {string | null} [level] */
  function partOf(level) {
    return parts.get(level ?? usual) ?? refuse(`The level is unknown; choose ${levels.join(" or ")}.`);
  }

  /** @type {import("./sfumato.js").Mechanism & { parts: typeof parts }} */
  const mechanism = {
    parts,
    levels,
    default: usual,
    identity: await sha256(canonical({ domain: spec, program })),
    value: domain.value,
    carries(report, level) {
      if (!parts.has(level ?? usual)) return false;
      return report === null || partOf(level).carries(report);
    },
    again(report, { level } = {}) {
      if (report === null) return null;
      const { again } = partOf(level);
      return again ? again(report) : report;
    },
    async draw(answer, { level, secret, question } = {}) {
      const value = domain.value(answer);
      const part = partOf(level);
      if (value === null) return null;
      const codes = part.codes(value);
      const count = part.words(codes);
      if (secret === undefined) return part.remember(codes, freshWords(count));
      if (!question) refuse("A secret needs a question; give one.");
      const code = Array.isArray(codes) ? await hashedCode(codes) : codes;
      return part.remember(codes, await keyedWords(secret, `${question}\0${part.noise}`, code, count));
    },
  };
  return mechanism;
}

/**
 * Wrap a program without a choice of levels as one level without a name.
 * @param {LevelProgram} program
 * @returns {Pick<ProgramOfLevels, "levels" | "default">}
 */
function onlyLevel(program) {
  return { levels: { "": program }, default: "" };
}

/**
 * Read the program of one level, and hash the part of it that its noise depends on.
 * @param {LevelProgram} program
 * @param {Domain} spec
 * @param {DomainReader} domain
 * @returns {Promise<Part & { noise: string }>}
 */
async function readLevel(program, spec, domain) {
  checkVersion(program?.program, "program");
  const part = readerOf(program)(domain);
  const noise = await sha256(canonical({ domain: spec, ...(part.noiseSource ?? { program }) }));
  return { ...part, noise };
}

/**
 * Return the reader for the kind of a program.
 * @param {LevelProgram} program
 * @returns {(domain: DomainReader) => Part}
 */
function readerOf(program) {
  if ("kind" in program) return (domain) => readBaskets(program, domain);
  if ("columns" in program) return (domain) => readColumns(program, domain);
  return (domain) => readProgram(program, domain);
}
