// The report: every claim with its verdict, every figure with its numbers, and each experiment again on demand.

import { getJson, postJson } from "./api.js";
import { drawFigure } from "./charts.js";
import { byId, el } from "./dom.js";
import { formula } from "./hints.js";
import { follow } from "./jobs.js";
import { change, current } from "./state.js";
import { claimView, SIGNS, verdict } from "./verdicts.js";

export class ReportView {
  constructor() {
    this.list = el("div", { class: "experiments" });
    this.count = el("output", { role: "status" });
    this.places = new Map(); // of what is run again, by the experiment's name: it goes on while one filters
    this.filter = { verdicts: [], source: "", words: "", open: [], ...current().report };
    this.filter.words = String(this.filter.words);
  }

  /** Asks for the report when its panel is first opened. */
  async open() {
    if (this.opened) return;
    this.opened = true;
    try {
      this.experiments = (await getJson("/api/report")).experiments;
    } catch (error) {
      this.opened = false;
      byId("report-view").replaceChildren(el("p", { class: "problem", role: "alert" }, error.message));
      return;
    }
    const words = "What was claimed, what was measured, and the verdict of a rule stated before. Open a line to see them.";
    byId("report-view").replaceChildren(el("p", { class: "caption" }, words), this.filters(), this.list);
    this.show();
  }

  filters() {
    const claims = this.experiments.flatMap((one) => one.claims);
    const sources = [...new Set(claims.map(sourceOf))].sort();
    const boxes = Object.keys(SIGNS).map((words) =>
      el(
        "label",
        {},
        el("input", {
          type: "checkbox",
          checked: this.filter.verdicts.includes(words),
          onchange: (event) =>
            this.narrow({
              verdicts: event.target.checked
                ? [...this.filter.verdicts, words]
                : this.filter.verdicts.filter((one) => one !== words),
            }),
        }),
        verdict(words),
      ),
    );
    return el(
      "form",
      { class: "filters", onsubmit: (event) => event.preventDefault() },
      el("fieldset", {}, el("legend", {}, "Verdict"), boxes),
      el(
        "label",
        {},
        "Source ",
        el(
          "select",
          { onchange: (event) => this.narrow({ source: event.target.value }) },
          el("option", { value: "" }, "all"),
          sources.map((one) => el("option", { value: one, selected: one === this.filter.source }, one)),
        ),
      ),
      el(
        "label",
        {},
        "Words ",
        el("input", {
          type: "search",
          value: this.filter.words,
          oninput: (event) => this.narrow({ words: event.target.value }),
        }),
      ),
      this.count,
    );
  }

  narrow(changes) {
    this.filter = { ...this.filter, ...changes };
    change({ report: this.filter });
    this.show();
  }

  show() {
    const narrowed = this.filter.verdicts.length || this.filter.source || this.filter.words;
    const found = this.experiments.map((one) => ({ one, claims: one.claims.filter((claim) => this.fits(one, claim)) }));
    const shown = found.filter(({ one, claims }) => claims.length || (!narrowed && one));
    const count = (lists) => lists.reduce((sum, { claims }) => sum + claims.length, 0);
    const all = this.experiments.reduce((sum, one) => sum + one.claims.length, 0);
    this.count.textContent = narrowed
      ? `${count(found)} of ${all} claims`
      : `${all} claims of ${this.experiments.length} experiments`;
    this.list.replaceChildren(...shown.map(({ one, claims }) => this.experiment(one, claims)));
  }

  fits(experiment, claim) {
    const { verdicts, source, words } = this.filter;
    const text = `${experiment.name} ${experiment.title} ${claim.sentence} ${claim.said} ${claim.source}`.toLowerCase();
    return (
      (!verdicts.length || verdicts.includes(claim.verdict)) &&
      (!source || sourceOf(claim) === source) &&
      words
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text.includes(word))
    );
  }

  experiment(one, claims) {
    const body = el("div", { class: "body" });
    const signs = claims.map((claim) => SIGNS[claim.verdict] ?? "·").join(" ");
    const details = el(
      "details",
      {
        class: "experiment",
        open: this.filter.open.includes(one.name),
        ontoggle: () => {
          this.keepOpen(one.name, details.open);
          if (details.open && !body.childNodes.length) fill(body, one, claims);
        },
      },
      el(
        "summary",
        {},
        el("span", { class: "name" }, one.title),
        el("span", { class: "signs" }, one.stored || signs ? signs : "not run yet"),
      ),
      el("p", {}, one.question ?? ""),
      this.runner(one),
      body,
    );
    return details;
  }

  keepOpen(name, open) {
    this.filter.open = [...this.filter.open.filter((one) => one !== name), ...(open ? [name] : [])];
    change({ report: this.filter });
  }

  /** The button that runs an experiment, and its progress. */
  runner(one) {
    if (!this.places.has(one.name)) {
      const words = one.stored ? "Run this again" : "Run this";
      const progress = el("div", {});
      const button = el(
        "button",
        { type: "button", "aria-label": `${words}: ${one.title}`, onclick: () => this.again(one, progress, button) },
        words,
      );
      this.places.set(one.name, el("div", {}, button, progress));
    }
    return this.places.get(one.name);
  }

  async again(one, progress, button) {
    button.disabled = true;
    try {
      await follow(await postJson(`/api/reproduce/${one.name}`, { preset: "quick", fresh: true }), progress);
      this.experiments = (await getJson("/api/report")).experiments;
      this.show();
    } catch (error) {
      progress.replaceChildren(el("p", { class: "problem", role: "alert" }, error.message));
    }
    button.disabled = false;
    button.focus();
  }
}

const sourceOf = (claim) => (claim.source ?? "").split(",")[0];

function fill(body, one, claims) {
  body.append(told(one.text), ...one.figures.map((figure) => figureView(figure)), ...claims.map(claimView));
}

/** Words, with formulas where the server made some; plain where nothing was run yet. */
function told(text) {
  return el(
    "p",
    {},
    (Array.isArray(text) ? text : [{ words: text ?? "" }]).map((piece) => formula(piece.mathml) ?? piece.words),
  );
}

/** The picture as printed; its numbers, to point at, on demand. */
export function figureView(figure) {
  const numbers = el("div", {});
  const show = el(
    "button",
    { type: "button", "aria-expanded": "false", onclick: () => toggle(show, numbers, figure) },
    "Show the numbers",
  );
  const links = ["svg", "png"]
    .filter((form) => figure[form])
    .map((form) => el("a", { href: figure[form], download: "" }, form.toUpperCase()));
  return el(
    "figure",
    { class: "printed" },
    figure.svg ? el("img", { src: figure.svg, alt: figure.title, loading: "lazy" }) : null,
    el("figcaption", {}, figure.title),
    el("p", { class: "links" }, links, figure.data ? show : null),
    numbers,
  );
}

async function toggle(button, place, figure) {
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  button.textContent = open ? "Show the numbers" : "Hide the numbers";
  place.hidden = open;
  if (open || place.childNodes.length) return;
  try {
    await drawFigure(place, await getJson(figure.data));
  } catch (error) {
    place.replaceChildren(el("p", { class: "problem", role: "alert" }, error.message));
  }
}
