// The device in JavaScript: it blurs a person's answers and remembers its reports. sfumato.d.ts has the types.

export { answer } from "./answer.js";
export { Ledger, LimitError } from "./ledger.js";
export { readMechanism } from "./mechanism.js";
export { predict, readModel } from "./model.js";
export { asks, readSurvey } from "./survey.js";
export { voice } from "./voice.js";
