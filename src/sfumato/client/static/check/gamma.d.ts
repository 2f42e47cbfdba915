import type { LevelProgram } from "../documents.js";
import type { Fraction, Survey } from "../sfumato.js";

/** The survey that `readSurvey` gave, if its programs are sound and every γ is that of its program; else it is refused. */
export function checkGammas(survey: Survey): Survey;

/** The exact γ of the report that is remembered, of a program (of one level) that is sound; null: no bound. */
export function gammaOf(program: LevelProgram): Fraction | null;
