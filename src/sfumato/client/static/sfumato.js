// The device in JavaScript: answers blurred under a law that can be checked, a ledger, and models that come home.

export { answer, readSurvey } from "./device.js";
export { Ledger, LimitError, voice } from "./ledger.js";
export { readMechanism } from "./mechanism.js";
export { predict, readModel } from "./model.js";
