// Claims and their verdicts: a sign beside the words, so that no verdict hangs on colour.

import { el } from "./dom.js";

export const SIGNS = { holds: "✓", "holds in part": "◐", "does not hold": "✗", "not testable here": "–" };

export function verdict(words) {
  return el("span", { class: `verdict ${words.replaceAll(" ", "-")}` }, `${SIGNS[words] ?? "·"} ${words}`);
}

export function claimView(claim) {
  const details = Object.entries({ measured: claim.said, rule: claim.rule, reason: claim.reason }).filter(
    ([, words]) => words,
  );
  return el(
    "div",
    { class: "claim" },
    el(
      "p",
      { class: "head" },
      verdict(claim.verdict),
      claim.as_expected === false ? el("strong", {}, "not as expected") : null,
      el("span", { class: "from" }, claim.source ?? ""),
    ),
    el("p", { class: "words" }, claim.sentence),
    details.length
      ? el(
          "dl",
          {},
          details.flatMap(([name, words]) => [el("dt", {}, name), el("dd", {}, words)]),
        )
      : null,
  );
}
