// A run as it comes in from the server: its state, its frames, the theory beside it, what it means.

import { getJson, postJson, rows, watch } from "./api.js";

const OVER = ["done", "stopped", "diverged", "failed"];

export class Run {
  constructor(state) {
    this.state = state;
    this.frames = [];
    this.theories = [];
    this.landscape = null;
    this.reading = null;
    this.lost = false;
    this.listeners = new Set();
    this.source = watch(`/api/runs/${state.id}/events`, {
      status: (now) => this.tell("state", now),
      frame: (frame) => this.addFrame(frame),
      theory: (theory) => this.addTheory(theory),
      landscape: (landscape) => this.tell("landscape", landscape),
      reading: (reading) => this.tell("reading", reading),
      end: (now) => this.tell("state", now),
    }, () => this.tell("lost", true));
  }

  static async start(settings) {
    return new Run(await postJson("/api/runs", { settings }));
  }

  /** A run that the server knows already; refused where it does not. */
  static async reopen(id) {
    return new Run(await getJson(`/api/runs/${encodeURIComponent(id)}`));
  }

  tell(what, value) {
    this[what] = value;
    for (const listener of this.listeners) listener(what);
  }

  addFrame(frame) {
    if (this.frames.length && frame.step <= this.frames.at(-1).step) return; // again, after the connection came back
    this.frames.push({ ...frame, fields: rows(frame.fields, this.state.shape.length) });
    this.tell("frames", this.frames);
  }

  addTheory(theory) {
    const fields = theory.missing ? [] : byField(theory, this.state.shape.length);
    this.tell("theories", [...this.theories.filter((one) => one.flow !== theory.flow), { ...theory, fields }]);
  }

  async order(what, body = {}) {
    this.tell("state", await postJson(`/api/runs/${this.state.id}/${what}`, body));
  }

  get over() { return this.lost || OVER.includes(this.state.status); }
  get known() { return this.theories.filter((theory) => !theory.missing); }

  close() {
    this.source.close();
    this.listeners.clear();
  }
}

/** Fields of a flow as [shown][time] -> pixels. */
function byField(theory, inner) {
  const all = rows(theory.fields, inner);
  const times = theory.time.length;
  return Array.from({ length: all.length / times }, (_, i) => all.slice(i * times, (i + 1) * times));
}
