// Runs side by side: what was pinned and what runs now, their fields, their curves and the settings that differ.

import { byId, el, oncePerFrame, plain } from "./dom.js";
import { term } from "./hints.js";
import { DASHES, TONES } from "./palette.js";
import { Plot } from "./plot.js";
import { drawFields, paint } from "./shapes.js";
import { written } from "./state.js";
import { fieldsAt, pixels } from "./runs.js";

export class CompareView {
  constructor({ unpin }) {
    this.unpin = unpin;
    this.runs = [];
    this.plots = {
      ipr: new Plot({ title: "IPR", heading: term("ipr", "IPR"), xlabel: "time = steps × rate", ylabel: "IPR" }),
      loss: new Plot({ title: "Loss", heading: term("loss", "Loss"), xlabel: "time = steps × rate", ylabel: "loss" }),
    };
    this.empty = el(
      "p",
      { class: "hint" },
      "Nothing is pinned. In Train, press Pin this run, change something and press Start: both are seen here.",
    );
    this.cards = el("div", { class: "cards" });
    this.different = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Settings that differ" });
    byId("compare-view").append(
      this.empty,
      this.cards,
      el("h2", { class: "unseen" }, "Curves"),
      el(
        "div",
        { class: "charts" },
        Object.values(this.plots).map((plot) => plot.node),
      ),
      this.different,
    );
    this.draw = oncePerFrame(() => this.drawNow());
  }

  /** `pinned` runs and, last, the one that is in Train. */
  show(pinned, now) {
    for (const { run, hear } of this.runs) run.listeners.delete(hear);
    const all = now && !pinned.includes(now) ? [...pinned, now] : pinned;
    this.runs = all.map((run, i) => ({
      run,
      hear: () => this.draw(),
      pinned: pinned.includes(run),
      tone: TONES[i % TONES.length],
      dash: DASHES[i % DASHES.length],
      letter: String.fromCharCode(65 + i),
    }));
    for (const { run, hear } of this.runs) run.listeners.add(hear);
    this.empty.hidden = pinned.length > 0;
    this.cards.replaceChildren(...this.runs.map((one) => this.card(one)));
    this.different.replaceChildren(...(all.length > 1 ? [differences(this.runs)] : []));
    this.draw();
  }

  card(one) {
    const { run, letter, pinned } = one;
    one.title = el("h2", {});
    one.canvas = el("canvas", { class: "field small", role: "img", "aria-label": `Field of run ${letter}` });
    one.words = el("p", { class: "caption" });
    new ResizeObserver(() => this.draw()).observe(one.canvas);
    return el(
      "article",
      { class: "card" },
      one.title,
      one.canvas,
      one.words,
      pinned
        ? el("button", { type: "button", onclick: () => this.unpin(run) }, `Unpin ${letter}`)
        : el("p", { class: "caption" }, "The run in Train"),
    );
  }

  drawNow() {
    for (const one of this.runs) this.drawCard(one);
    for (const { title, letter, run } of this.runs) title.textContent = `${letter}: ${run.state.title || "it begins"}`;
    for (const [name, plot] of Object.entries(this.plots)) {
      plot.draw({
        lines: this.runs.map(({ run, letter, tone, dash }) => ({
          name: letter,
          tone,
          dash,
          x: run.frames.map((frame) => frame.time),
          y: run.frames.map((frame) => middle(frame[name])),
        })),
      });
    }
  }

  drawCard({ run, canvas, words }) {
    const frame = run.frames.at(-1);
    if (!frame) return;
    paint(canvas, (width, height) => drawFields(fieldsAt(run, frame).slice(0, 8), run.state.shape, width, height));
    const [time, ipr, loss] = [frame.time, middle(frame.ipr) * pixels(run), middle(frame.loss)].map(plain);
    words.textContent = `Time ${time}: N × IPR ${ipr}, loss ${loss} (medians). ${run.reading?.happened ?? ""}`;
  }
}

function middle(values) {
  const sorted = (values ?? []).filter(Number.isFinite).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor((sorted.length - 1) / 2)] : null;
}

function differences(runs) {
  const all = runs.map(({ run }) => new Map(new URLSearchParams(written(run.state.settings))));
  const names = [...new Set(all.flatMap((one) => [...one.keys()]))].filter(
    (name) => new Set(all.map((one) => one.get(name))).size > 1,
  );
  if (!names.length) return el("p", { class: "hint" }, "Both have the same settings.");
  return el(
    "table",
    {},
    el("caption", {}, "Settings that differ"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "setting"),
        runs.map(({ letter }) => el("th", { scope: "col" }, letter)),
      ),
    ),
    el(
      "tbody",
      {},
      names.map((name) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          all.map((one) => el("td", {}, one.get(name) ?? "–")),
        ),
      ),
    ),
  );
}
