// The page as a whole: the catalogue fills the forms, the forms fill the address, and the panels follow.

import { getJson, whenPresenceChanges } from "./api.js";
import { Bench } from "./bench.js";
import { CompareView } from "./compare.js";
import { announce, byId, el } from "./dom.js";
import { ownName } from "./forms.js";
import { setGlossary, startHints } from "./hints.js";
import { showOwnData } from "./own_data.js";
import { showPresets } from "./presets.js";
import { ReportView } from "./report.js";
import { Run } from "./runs.js";
import { change, current, whenReopened } from "./state.js";
import { StimulusView } from "./stimulus.js";
import { makeTabs } from "./tabs.js";
import { TakeAwayView } from "./take_away.js";
import { TrainView } from "./train.js";

const WITH_BENCH = ["stimulus", "train"];
const MINUTE = 60_000;

class Lab {
  constructor(catalogue) {
    setGlossary(catalogue.glossary);
    startHints();
    this.run = null;
    this.pinned = [];
    this.stimulus = new StimulusView();
    this.train = new TrainView({ pin: (run) => this.pin(run) });
    this.compare = new CompareView({ unpin: (run) => this.pin(run, false) });
    this.report = new ReportView();
    this.take = new TakeAwayView(this.train);
    this.bench = new Bench(catalogue, {
      heard: (settings) => this.hear(settings),
      start: (settings) => this.start(settings),
    });
    showPresets(catalogue.presets, (preset) => this.open(preset));
    showOwnData(catalogue.limits, (kept) => this.use(kept));
    this.askForOwn();
    setInterval(() => this.askForOwn(), MINUTE);
    this.show = makeTabs(byId("tabs"), (name) => this.shown(name));
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      byId("main").focus();
    });
    byId("version").textContent = `version ${catalogue.version}`;
    whenReopened((state) => this.reopen(state));
    whenPresenceChanges((here) => this.tellPresence(here));
    this.show(current().tab ?? "train");
    this.reopenRuns(current());
    this.train.draw();
  }

  shown(name) {
    if (name !== (current().tab ?? "train")) change({ tab: name }, { visit: true });
    this.tab = name;
    byId("bench").hidden = !WITH_BENCH.includes(name);
    if (name === "stimulus") this.stimulus.show(this.bench.settings);
    if (name === "report") this.report.open();
    if (name === "compare") this.compare.show(this.pinned, this.run);
    if (name === "take") this.take.show(this.run, this.bench.settings);
  }

  hear(settings) {
    if (this.tab === "stimulus") this.stimulus.show(settings);
  }

  async start(settings) {
    this.letGo();
    const run = await Run.start(settings);
    change({ run: run.state.id, at: undefined });
    this.put(run);
    if (this.tab !== "train") this.show("train");
    announce("The run has begun.");
  }

  put(run) {
    this.run = run;
    this.train.watch(run);
    this.bench.watch(run);
    run.listeners.add((what) => {
      if (what === "state" && this.tab === "take") this.shown("take");
    });
  }

  /** A run that is not pinned ends when another takes its place. */
  letGo() {
    if (!this.run || this.pinned.includes(this.run)) return;
    if (!this.run.over) this.run.order("stop").catch(() => {});
    this.run.close();
  }

  pin(run, on = true) {
    this.pinned = on ? [...new Set([...this.pinned, run])] : this.pinned.filter((one) => one !== run);
    change({ pinned: this.pinned.length ? this.pinned.map((one) => one.state.id) : undefined });
    byId("pins").textContent = this.pinned.length ? ` (${this.pinned.length})` : "";
    announce(on ? "Pinned: see Compare." : "Unpinned.");
    if (this.tab === "compare") this.compare.show(this.pinned, this.run);
  }

  open(preset) {
    this.bench.set(preset.settings);
    this.show("train");
    const words = `The settings are those of “${preset.title}”: press Start.`;
    announce(words);
    this.bench.say(words);
    this.bench.buttons.start.focus();
  }

  /** Puts data of one's own in the settings, with a batch and a rate that suit them. */
  use({ stimulus, batch, rate }) {
    const now = this.bench.settings;
    this.bench.set({ ...now, stimulus, batch: Math.min(now.batch, batch), rate: Math.min(now.rate, rate) });
    this.show("stimulus");
    const words = `${ownName(stimulus.samples)} is the stimulus now: look at it, or press Start.`;
    announce(words);
    this.bench.say(words);
  }

  /** The server keeps data for as long as a page asks for them. */
  async askForOwn() {
    const { samples } = this.bench.settings.stimulus;
    if (!samples) return;
    try {
      await getJson(`/api/data/${samples.split("/").map(encodeURIComponent).join("/")}`);
    } catch (error) {
      this.bench.say(error.message);
    }
  }

  reopen(state) {
    if (state.settings) this.bench.set(state.settings);
    this.show(state.tab ?? "train");
    if (state.run && state.run !== this.run?.state.id) this.reopenRuns(state);
    this.train.draw();
  }

  /** Runs that the address names, where this server still has them. */
  async reopenRuns(state) {
    const runs = new Map([...this.pinned, this.run].filter(Boolean).map((run) => [run.state.id, run]));
    const wanted = [...(state.pinned ?? []), state.run].filter((id) => id && !runs.has(id));
    await Promise.all(
      [...new Set(wanted)].map(async (id) => {
        try {
          runs.set(id, await Run.reopen(id));
        } catch {
          /* said below */
        }
      }),
    );
    for (const id of state.pinned ?? []) if (runs.has(id)) this.pin(runs.get(id));
    if (runs.has(state.run)) this.put(runs.get(state.run));
    else if (state.run)
      this.bench.say(
        "The run of this link is no longer here. Press Start to make it again: the same settings give the same bits.",
      );
    this.shown(this.tab);
  }

  tellPresence(here) {
    byId("gone").hidden = here;
    announce(here ? "The server is back." : "The server does not answer.");
    if (here && this.tab === "stimulus") this.stimulus.show(this.bench.settings);
  }
}

try {
  new Lab(await getJson("/api/catalogue"));
} catch (error) {
  byId("main").replaceChildren(
    el("p", { class: "problem", role: "alert" }, `The lab could not open: ${error.message}`),
  );
}
