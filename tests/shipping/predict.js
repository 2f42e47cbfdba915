// Applies models to people; the same file in Node and in a browser.

import { predict, readModel } from "../../src/sfumato/client/static/model.js";

/** From the JSON of [[model, people], …] the JSON of what each person is told, or of the refusal of the whole model. */
export const run = (asked) => JSON.stringify(JSON.parse(asked).map(([text, people]) => told(text, people)));

/** [label, probabilities in the order of the classes, rule] of each person, or the sentence of a refusal. */
function told(text, people) {
  const attempt = (act) => {
    try {
      return act();
    } catch (error) {
      return { refusal: error.message, kind: error.constructor.name };
    }
  };
  return attempt(() => {
    const model = readModel(text);
    return people.map((person) => attempt(() => {
      const { label, probabilities, rule } = predict(model, person);
      return [label, model.classes.map((each) => probabilities[each]), rule];
    }));
  });
}

if (typeof process !== "undefined") {
  const { readFileSync } = await import("node:fs");
  process.stdout.write(run(readFileSync(0, "utf8")));
}
