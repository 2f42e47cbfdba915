// The device: blurs a person's answers, and tells a collector the same thing once. sfumato.d.ts has the types.

export { answer } from "./answer.js";
export { Ledger, LimitError } from "./ledger.js";
export { readMechanism } from "./mechanism.js";
export { predict, readModel } from "./model.js";
export { asks, readSurvey } from "./survey.js";
export { voice } from "./voice.js";
