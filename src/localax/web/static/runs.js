// A run as it comes in from the server: its state, its frames, the theory beside it, what it means.

import { getJson, postJson, rows, watch } from "./api.js";
import { nearest } from "./plot.js";

export const FLOWS = {
  effective_flow: { tone: "red", dash: "7 4" },
  window_flow: { tone: "green", dash: "2 3" },
  exact_flow: { tone: "purple", dash: "9 3 2 3" },
};
const WORDS = {
  queued: "Waiting for a free core",
  running: "Running",
  paused: "Paused",
  done: "Done",
  stopped: "Stopped",
  diverged: "Diverged",
  failed: "Failed",
};

const OVER = ["done", "stopped", "diverged", "failed"];

export class Run {
  constructor(state) {
    this.state = state;
    this.frames = [];
    this.theories = [];
    this.landscape = null;
    this.reading = null;
    this.lost = false;
    this.ended = false; // theory beside it too
    this.listeners = new Set();
    this.source = watch(
      `/api/runs/${state.id}/events`,
      {
        status: (now) => this.tell("state", now),
        frame: (frame) => this.addFrame(frame),
        theory: (theory) => this.addTheory(theory),
        landscape: (landscape) => this.tell("landscape", landscape),
        reading: (reading) => this.tell("reading", reading),
        end: (now) => {
          this.ended = true;
          this.tell("state", now);
        },
      },
      () => this.tell("lost", true),
    );
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

  /** Asks for a change; the events tell when it has come about. */
  order(what, body = {}) {
    return postJson(`/api/runs/${this.state.id}/${what}`, body);
  }

  get over() {
    return this.lost || OVER.includes(this.state.status);
  }
  /** The flows that there are; each follows some of the fields, not always all. */
  get known() {
    return this.theories.filter((theory) => !theory.missing);
  }

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

export const pixels = (run) => run.state.shape.reduce((a, b) => a * b, 1);

/** How long the run is to be, in its own time. */
export const duration = (run) => run.state.steps * run.state.rate;

export function nameOf(run, index) {
  const shown = run.state.shown;
  const { seed, unit } = shown[index];
  return shown.some((one) => one.unit > 0) ? `seed ${seed}, unit ${unit}` : `seed ${seed}`;
}

const shortName = (run, index) => nameOf(run, index).replace(/seed (\d+), unit (\d+)/, "s$1 u$2");

/** Fields of a frame with those of each flow at the same time. */
export function fieldsAt(run, frame, chosen = -1) {
  return frame.fields.map((values, i) => ({
    name: shortName(run, i),
    values,
    chosen: i === chosen && frame.fields.length > 1,
    tone: "blue",
    others: run.known
      .filter((theory) => theory.fields[i])
      .map((theory) => ({
        values: theory.fields[i][nearest(theory.time, frame.time)],
        name: theory.title,
        ...FLOWS[theory.flow],
      })),
  }));
}

/** Training and every flow as curves over time; other seeds faintly. */
export function curvesOf(run, quantity, chosen) {
  const x = run.frames.map((frame) => frame.time);
  const series = (i) => run.frames.map((frame) => frame[quantity]?.[i] ?? null);
  const others = run.state.shown
    .map((_, i) => i)
    .filter((i) => i !== chosen)
    .map((i) => ({ x, y: series(i), tone: "blue", faint: true }));
  const flows = run.known
    .filter((theory) => theory[quantity]?.[chosen])
    .map((theory) => ({
      name: theory.title,
      x: theory.time,
      y: theory[quantity][chosen],
      ...FLOWS[theory.flow],
    }));
  return [...others, { name: "training", x, y: series(chosen), tone: "blue", dash: "" }, ...flows];
}

export function statusWords(run, step) {
  if (run.lost)
    return "The server has forgotten this run. Press Start to make it again: the same settings give the same bits.";
  const { status, steps, place, message } = run.state;
  if (status === "queued" && !place) return "It begins.";
  const where = status === "queued" ? `, ${place} in line` : ` at step ${step} of ${steps}`;
  return `${WORDS[status] ?? status}${where}.${message ? ` ${message}` : ""}`;
}
