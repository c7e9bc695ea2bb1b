// Settings of the paper's figures and of the notes' experiments, each with its claims.

import { byId, el } from "./dom.js";
import { claimView } from "./verdicts.js";

const CHAPTERS = { lab: "To begin with", paper: "The paper", notes: "The working notes", beyond: "Beyond them" };

export function showPresets(presets, open) {
  const chapters = [...new Set([...Object.keys(CHAPTERS), ...presets.map((one) => one.chapter)])];
  const view = byId("presets-view");
  for (const chapter of chapters) {
    const mine = presets.filter((one) => one.chapter === chapter);
    if (mine.length)
      view.append(
        el("h2", {}, CHAPTERS[chapter] ?? chapter),
        el(
          "div",
          { class: "cards" },
          mine.map((one) => card(one, open)),
        ),
      );
  }
}

function card(preset, open) {
  const claims = preset.claims ?? [];
  return el(
    "article",
    { class: "card" },
    el("h3", {}, preset.title),
    el("p", {}, preset.question),
    claims.slice(0, 1).map(claimView),
    claims.length > 1
      ? el("details", {}, el("summary", {}, `${claims.length - 1} more of its claims`), claims.slice(1).map(claimView))
      : null,
    claims.length
      ? null
      : el("p", { class: "caption" }, preset.chapter === "lab" ? "" : "Not judged here yet: run it in Report."),
    el(
      "button",
      { type: "button", onclick: () => open(preset), "aria-label": `Open in Train: ${preset.title}` },
      "Open in Train",
    ),
  );
}
