// The column of settings with Start, Pause and Stop: what is set here is what the other panels show and train.

import { announce, byId, el, plain } from "./dom.js";
import { fieldControls, filledIn, kindForm } from "./forms.js";
import { change, current } from "./state.js";
import { statusWords } from "./runs.js";

export class Bench {
  /** `heard(settings)` at every change, `start(settings)` when Start is pressed; both may be refused with a line. */
  constructor(catalogue, { heard, start }) {
    this.catalogue = catalogue;
    this.heard = heard;
    this.buttons = {
      start: el(
        "button",
        { type: "button", class: "primary", onclick: () => this.try(() => start(this.settings)) },
        "Start",
      ),
      pause: el(
        "button",
        {
          type: "button",
          disabled: true,
          onclick: () => this.try(() => this.run.order(this.run.state.status === "paused" ? "resume" : "pause")),
        },
        "Pause",
      ),
      stop: el(
        "button",
        { type: "button", disabled: true, onclick: () => this.try(() => this.run.order("stop")) },
        "Stop",
      ),
    };
    this.status = el("p", { class: "status" }, "Nothing runs yet.");
    this.problem = el("p", { class: "problem", role: "alert" });
    this.progress = el("progress", { value: 0, max: 1, "aria-label": "Progress of the run" });
    this.forms = el("div", { class: "forms" });
    byId("bench").append(
      el("h2", { class: "unseen" }, "Settings"),
      el(
        "div",
        { class: "orders" },
        el("div", { class: "buttons" }, Object.values(this.buttons)),
        this.progress,
        this.status,
        this.problem,
      ),
      this.forms,
    );
    this.set(current().settings ?? catalogue.defaults);
  }

  /** Builds the forms anew from settings, complete or not. */
  set(settings) {
    const { stimuli, networks, initialisers, run, defaults } = this.catalogue;
    const given = { ...defaults, ...settings };
    this.settings = {
      ...Object.fromEntries(run.map((field) => [field.name, given[field.name] ?? field.default])),
      ...given,
    };
    const part = (name, kinds) => {
      this.settings[name] = filledIn(kinds.find((kind) => kind.kind === given[name]?.kind) ?? kinds[0], given[name]);
      return kindForm(
        { stimulus: "Stimulus", network: "Network", init: "Initial weights" }[name],
        kinds,
        this.settings[name],
        (value) => this.take({ [name]: value }),
      );
    };
    this.forms.replaceChildren(
      group("Stimulus", true, part("stimulus", stimuli)),
      group("Network", true, part("network", networks)),
      group(
        "Run",
        true,
        el("p", { class: "meaning" }, "The rate can be moved while a run goes on."),
        ...this.runControls(run.filter((field) => !field.rare)),
      ),
      group("Initial weights", false, part("init", initialisers)),
      group("More of the run", false, ...this.runControls(run.filter((field) => field.rare))),
    );
    this.take({});
  }

  runControls(fields) {
    return fieldControls(fields, this.settings, (name, value) => this.takeRun(name, value));
  }

  take(changes) {
    this.settings = { ...this.settings, ...changes };
    change({ settings: this.settings });
    this.heard(this.settings);
    if (this.run?.over && Object.keys(changes).length) this.say("The settings are others now: press Start to train with them.");
  }

  /** The rate reaches a run that goes on; everything else waits for the next Start. */
  takeRun(name, value) {
    this.take({ [name]: value });
    if (name !== "rate" || !this.run || this.run.over) return;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.try(() => this.run.order("rate", { rate: value })), 250);
  }

  watch(run) {
    this.run?.listeners.delete(this.hear);
    this.run = run;
    this.hear = (what) => {
      if (what === "state" || what === "lost" || what === "frames") this.show();
    };
    run.listeners.add(this.hear);
    this.show();
  }

  show() {
    const { status, step, steps, rate } = this.run.state;
    const over = this.run.over;
    const at = Math.max(step, this.run.frames.at(-1)?.step ?? 0);
    this.buttons.pause.disabled = over || status === "queued";
    this.buttons.pause.textContent = status === "paused" ? "Resume" : "Pause";
    this.buttons.stop.disabled = over;
    this.progress.value = steps ? at / steps : 0;
    this.say(`${statusWords(this.run, at)}${over ? "" : ` Rate ${plain(rate)}.`}`);
    if (status !== this.told) announce(statusWords(this.run, at));
    this.told = status;
  }

  say(words) {
    this.status.textContent = words;
  }

  async try(action) {
    this.problem.textContent = "";
    try {
      await action();
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }
}

function group(title, open, ...children) {
  return el("details", { class: "group", open }, el("summary", {}, title), ...children);
}
