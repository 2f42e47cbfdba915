// ESLint's recommended rules for the JavaScript of the device, the pages and their tests.

import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: "latest", sourceType: "module", globals: globals["shared-node-browser"] },
    rules: { "no-unused-vars": ["error", { varsIgnorePattern: "^_$", argsIgnorePattern: "^_$" }] },
  },
  { files: ["**/static/**"], languageOptions: { globals: globals.browser } },
  { files: ["**/*.mjs", "**/tests/**"], languageOptions: { globals: globals.node } },
];
