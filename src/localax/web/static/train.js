// Training as it happens: fields, loss and IPR, theory on the same time axis, and a slider to go back.

import { byId, el, oncePerFrame, plain } from "./dom.js";
import { ObjectiveView } from "./objective.js";
import { term } from "./hints.js";
import { whenThemeChanges } from "./palette.js";
import { Plot } from "./plot.js";
import { readingView } from "./reading.js";
import { curvesOf, duration, fieldsAt, FLOWS, nameOf, pixels } from "./runs.js";
import { drawFields, largest, paint } from "./shapes.js";
import { change, current } from "./state.js";

export class TrainView {
  constructor({ pin }) {
    this.run = null;
    this.canvas = el("canvas", {
      class: "field",
      role: "img",
      "aria-label": "Receptive field",
      "aria-describedby": "field-words",
    });
    this.words = el("p", { id: "field-words", class: "caption" });
    this.welcome = welcome();
    this.flows = el("ul", { class: "legend" });
    this.time = el("output", { for: "replay" });
    this.replay = el("input", {
      type: "range",
      id: "replay",
      min: 0,
      max: 0,
      value: 0,
      disabled: true,
      oninput: () => this.goTo(Number(this.replay.value)),
    });
    this.follow = el("select", {
      id: "follow",
      onchange: () => {
        change({ follow: Number(this.follow.value) });
        this.draw();
      },
    });
    this.pin = el("button", { type: "button", disabled: true, onclick: () => pin(this.run) }, "Pin this run");
    this.orders = el(
      "div",
      {},
      el("div", { class: "replay" }, el("label", { for: "replay" }, "Replay"), this.replay, this.time),
      el("div", { class: "replay" }, el("label", { for: "follow" }, "Follow"), this.follow, this.pin),
    );
    this.plots = {
      loss: new Plot({ title: "Loss", heading: term("loss", "Loss"), xlabel: "time = steps × rate", ylabel: "loss" }),
      ipr: new Plot({ title: "IPR", heading: term("ipr", "IPR"), xlabel: "time = steps × rate", ylabel: "IPR" }),
    };
    this.objective = new ObjectiveView();
    this.reading = readingView();
    this.notes = el("ul", { class: "notes" });
    this.assemble();
    this.draw = oncePerFrame(() => this.drawNow());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    whenThemeChanges(() => this.draw());
  }

  assemble() {
    const field = el(
      "figure",
      { class: "chart" },
      el("h2", {}, term("receptive_field", "Receptive field")),
      this.flows,
      this.welcome,
      this.canvas,
      this.words,
      this.orders,
    );
    byId("train-view").append(
      el(
        "div",
        { class: "columns" },
        el("div", { class: "stack" }, field, this.reading.node, this.notes),
        el("div", { class: "stack" }, this.plots.loss.node, this.plots.ipr.node, this.objective.node),
      ),
    );
  }

  /** Shows a run from now on. */
  watch(run) {
    this.run?.listeners.delete(this.hear);
    this.run = run;
    this.hear = (what) => this.heard(what);
    run.listeners.add(this.hear);
    this.pin.disabled = false;
    this.offerFields();
    this.reading.show(run);
    this.draw();
  }

  heard(what) {
    if (what === "state") this.offerFields();
    if (what !== "frames") this.reading.show(this.run);
    if (what === "theories") this.tellNotes();
    this.draw();
  }

  /** Names of the fields that can be followed, once the run has told which they are. */
  offerFields() {
    const { shown } = this.run.state;
    if (this.follow.childElementCount !== shown.length)
      this.follow.replaceChildren(...shown.map((_, i) => el("option", { value: i }, nameOf(this.run, i))));
    this.follow.value = this.followed;
  }

  get followed() {
    return Math.max(0, Math.min(current().follow ?? 0, this.run.state.shown.length - 1));
  }

  /** The frame on the screen: the last one unless somebody went back. */
  get at() {
    const last = this.run.frames.length - 1;
    return Math.max(0, Math.min(current().at ?? last, last));
  }

  goTo(index) {
    change({ at: index === this.run.frames.length - 1 ? undefined : index });
    this.draw();
  }

  drawNow() {
    this.welcome.hidden = Boolean(this.run);
    for (const node of [this.canvas, this.orders]) node.hidden = !this.run;
    if (!this.run) return this.drawNothing();
    this.replay.disabled = this.run.frames.length < 2;
    this.replay.max = Math.max(0, this.run.frames.length - 1);
    this.replay.value = this.at;
    if (!this.run.frames.length) return this.drawNothing();
    const frame = this.run.frames[this.at];
    this.time.textContent = `time ${plain(frame.time)}, step ${frame.step}`;
    this.replay.setAttribute("aria-valuetext", this.time.textContent);
    this.drawField(frame);
    this.drawPlots(frame);
    this.objective.draw(this.run, this.followed, this.at);
    return undefined;
  }

  drawNothing() {
    this.words.textContent = this.run ? "The first frame comes in a moment." : "";
    paint(this.canvas, () => []);
    for (const plot of Object.values(this.plots)) plot.draw({ lines: [] });
  }

  drawField(frame) {
    const fields = fieldsAt(this.run, frame, this.followed);
    paint(this.canvas, (width, height) => drawFields(fields, this.run.state.shape, width, height));
    const i = this.followed;
    const [ipr, top] = [frame.ipr[i] * pixels(this.run), largest(frame.fields[i])].map(plain);
    const told = [`peak at ${placeOf(frame.peak[i], this.run.state.shape)}`, `N × IPR ${ipr}`, `largest weight ${top}`];
    this.words.textContent = `${nameOf(this.run, i)}: ${told.join(", ")}.`;
    showFlows(this.flows, this.run);
  }

  drawPlots(frame) {
    const end = this.run.state.status === "diverged" ? this.run.frames.at(-1).time : null;
    for (const [name, plot] of Object.entries(this.plots)) {
      const lines = curvesOf(this.run, name, this.followed);
      plot.draw({
        lines,
        xrange: [0, end ?? Math.max(duration(this.run), ...lines.map((line) => line.x.at(-1) ?? 0))],
        marks: this.at < this.run.frames.length - 1 ? [{ x: frame.time, name: "shown" }] : [],
        words: `${name} is ${plain(frame[name]?.[this.followed])} at time ${plain(frame.time)}.`,
      });
    }
  }

  tellNotes() {
    const said = this.run.theories.map((theory) => `${theory.title}: ${theory.missing ?? theory.note ?? ""}`);
    this.notes.replaceChildren(...said.map((line) => el("li", {}, line)));
  }
}

const placeOf = (pixel, [, width]) =>
  width ? `row ${Math.floor(pixel / width)}, column ${pixel % width}` : `pixel ${pixel}`;

/** What a person sees who comes for the first time. */
function welcome() {
  const step = (name, words) => el("li", {}, el("strong", {}, name), words);
  return el(
    "div",
    { class: "welcome" },
    el(
      "p",
      {},
      "A network learns to tell two kinds of pictures apart: in one, pixels are alike over a short distance, in the ",
      "other over a long one. Does a neuron end up looking at a few neighbouring pixels, or at all of them?",
    ),
    el(
      "ul",
      {},
      step("Start", " trains with the settings beside. Weights of each neuron are drawn here as they form; theory is dashed."),
      step("Stimulus", " shows the two kinds of pictures, and what theory says before anything is trained."),
      step("Presets", " have the settings of each figure of the paper; Own data takes a file of yours."),
    ),
    el("p", { class: "caption" }, "Words with dots under them say what they mean, by pointer or by Tab."),
  );
}

function showFlows(list, run) {
  const names = ["training", ...run.known.map((theory) => theory.title)];
  if (list.dataset.names === names.join()) return;
  list.dataset.names = names.join();
  list.replaceChildren(
    el("li", { class: "key tone-blue" }, "training"),
    ...run.known.map((theory) =>
      el("li", { class: `key tone-${FLOWS[theory.flow].tone} ${theory.flow}` }, term(theory.flow, theory.title)),
    ),
  );
}
