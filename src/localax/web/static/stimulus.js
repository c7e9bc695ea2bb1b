// The stimulus: samples of both classes, marginal, covariance, amplifier, and on which side of the threshold it is.

import { latest, numbers, oneAtATime, postJson, rows } from "./api.js";
import { byId, el, freshId, plain } from "./dom.js";
import { factList, term } from "./hints.js";
import { whenThemeChanges } from "./palette.js";
import { Plot } from "./plot.js";
import { drawFields, paint } from "./shapes.js";

const CLASSES = [
  { tone: "red", dash: "7 4" },
  { tone: "blue", dash: "" },
];
const REST = 350; // milliseconds without a change, after which slower questions are asked

export class StimulusView {
  constructor() {
    this.plots = {
      marginal: new Plot({
        title: "Marginal",
        heading: term("marginal", "Marginal of a pixel"),
        xlabel: "value of a pixel",
        ylabel: "density",
      }),
      covariance: new Plot({
        title: "Covariance",
        heading: term("covariance", "Covariance"),
        xlabel: "distance in pixels",
        ylabel: "covariance",
      }),
      amplifier: new Plot({ title: "Amplifier", heading: term("amplifier"), xlabel: "a", ylabel: "φ(a)" }),
    };
    this.samples = el("canvas", { class: "samples", role: "img", "aria-label": "Samples of both classes" });
    this.kurtosis = factList({ excess_kurtosis: "excess kurtosis" });
    this.plots.marginal.node.append(this.kurtosis.node);
    this.threshold = thresholdMark();
    this.problem = el("p", { class: "problem", role: "alert" });
    const heading = freshId("samples");
    byId("stimulus-view").append(
      this.problem,
      this.threshold.node,
      el(
        "div",
        { class: "charts" },
        el(
          "figure",
          { class: "chart", "aria-labelledby": heading },
          el("h3", { id: heading }, "Samples"),
          this.samples,
        ),
        this.plots.marginal.node,
        this.plots.covariance.node,
        this.plots.amplifier.node,
      ),
    );
    this.askCritical = latest((settings, signal) => postJson("/api/threshold", { settings }, signal));
    const ask = [oneAtATime((settings) => this.fetch(settings)), oneAtATime((settings) => this.fetchSamples(settings))];
    this.show = (settings) => ask.forEach((one) => one(settings));
    new ResizeObserver(() => this.drawSamples()).observe(this.samples);
    whenThemeChanges(() => this.drawSamples());
  }

  async fetch(settings) {
    clearTimeout(this.resting);
    try {
      this.found = await postJson("/api/stimulus", { settings });
      this.problem.textContent = "";
      this.draw(this.found);
      this.resting = setTimeout(() => this.fetchCritical(settings), REST);
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }

  /** Apart, as a ring of a new size has to be compiled. */
  async fetchSamples(settings) {
    try {
      this.drawn = await postJson("/api/samples", { settings });
      this.drawSamples();
    } catch {
      /* the other question says what is wrong */
    }
  }

  async fetchCritical(settings) {
    try {
      const found = await this.askCritical(settings);
      if (found) this.threshold.add(found);
    } catch (error) {
      this.threshold.say([error.message]);
    }
  }

  draw(found) {
    this.drawMarginal(found.classes);
    this.drawCovariance(found);
    this.drawAmplifier(found.amplifier, found.classes);
    this.threshold.show(found.threshold);
  }

  drawSamples() {
    if (!this.drawn) return;
    const { names, samples, shape } = this.drawn;
    const drawn = samples.map((one) => rows(one, shape.length));
    const count = Math.min(...drawn.map((list) => list.length), 3);
    const one = (c, i) => ({ name: names[c], values: drawn[c][i], ...style(c) });
    const [classes, each] = [drawn, Array.from({ length: count })].map((list) => [...list.keys()]);
    const plane = shape.length === 2; // tiles: a row for each class; lines: a column
    const fields = plane
      ? classes.flatMap((c) => each.map((i) => one(c, i)))
      : each.flatMap((i) => classes.map((c) => one(c, i)));
    const columns = plane ? count : classes.length;
    paint(this.samples, (width, height) => drawFields(fields, shape, width, height, columns));
  }

  drawMarginal(classes) {
    const lines = classes.map(({ name, marginal }, c) => ({
      name,
      ...style(c),
      ...steps(numbers(marginal.edges), numbers(marginal.density)),
    }));
    const said = classes.map(({ name, marginal }) => `${name} ${marginal.excess_kurtosis_text}`);
    this.plots.marginal.draw({
      lines,
      xrange: support(lines),
      yrange: [0, 1.08 * Math.max(...lines.flatMap((line) => line.y))],
      words: `Excess kurtosis: ${said.join(", ")}.`,
    });
    this.kurtosis.set({ excess_kurtosis: said.join(", ") });
  }

  /** Along a row of pixels, from pixel 0 to half way round. */
  drawCovariance({ classes, shape }) {
    const half = Math.floor(shape.at(-1) / 2) + 1;
    const x = Array.from({ length: half }, (_, i) => i);
    const lines = classes.map((one, c) => ({ name: one.name, ...style(c), x, y: numbers(one.covariance).slice(0, half) }));
    this.plots.covariance.draw({
      lines,
      words: `At distance 1: ${lines.map((line) => `${line.name} ${plain(line.y[1])}`).join(", ")}.`,
    });
  }

  drawAmplifier(amplifier, classes) {
    this.plots.amplifier.node.classList.toggle("empty", Boolean(amplifier.missing));
    if (amplifier.missing)
      return this.plots.amplifier.draw({ lines: [{ name: amplifier.missing, x: [], y: [], tone: "ink" }] });
    const x = numbers(amplifier.a);
    const lines = [
      { name: `φ of ${classes[amplifier.of].name}`, x, y: numbers(amplifier.phi), tone: "blue", dash: "" },
      { name: "tangent at 0", x, y: numbers(amplifier.tangent), tone: "green", dash: "7 4" },
    ];
    if (amplifier.third) lines.push({ name: "third order", x, y: numbers(amplifier.third), tone: "red", dash: "2 3" });
    const [low, high] = [Math.min(...lines[0].y), Math.max(...lines[0].y)];
    const room = 0.35 * (high - low || 1);
    return this.plots.amplifier.draw({ lines: lines.map((line) => clipped(line, low - room, high + room)) });
  }
}

const style = (c) => CLASSES[c] ?? { tone: "purple", dash: "2 3" };

/** Where a curve leaves the picture it is not drawn, so that it does not squeeze the others. */
const clipped = (line, low, high) => ({
  ...line,
  y: line.y.map((value) => (value < low || value > high ? null : value)),
});

/** Where there is anything to see of a density, with some room. */
function support(lines) {
  const seen = lines.flatMap(({ x, y }) => x.filter((_, i) => y[i] > 1e-3));
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  const room = 0.15 * (high - low);
  return [low - room, high + room];
}

/** A histogram as a line of steps. */
function steps(edges, density) {
  return { x: density.flatMap((_, i) => [edges[i], edges[i + 1]]), y: density.flatMap((value) => [value, value]) };
}

/** A scale from spread to localized with the threshold in the middle, and what it says in words. */
function thresholdMark() {
  const meter = el("div", { class: "meter", role: "img" }, el("span", { class: "needle" }));
  const sentence = el("p", { class: "sentence" });
  const more = el("ul", { class: "more" });
  const heading = freshId("threshold");
  const node = el(
    "section",
    { class: "threshold", "aria-labelledby": heading },
    el("h3", { id: heading }, term("threshold", "Threshold")),
    el("div", { class: "scale" }, el("span", {}, "◂ stays spread"), meter, el("span", {}, "localizes ▸")),
    sentence,
    more,
  );

  function show(found) {
    const far = found.relative ?? found.rate ?? 0;
    meter.classList.toggle("unknown", found.side === "unknown");
    meter.style.setProperty("--at", `${50 + 48 * Math.sign(far) * Math.tanh(2 * Math.sqrt(Math.abs(far)))}%`);
    meter.setAttribute("aria-label", `Side of the threshold: ${found.side}`);
    sentence.textContent = found.sentence;
    more.classList.add("stale");
  }

  function say(lines) {
    more.classList.remove("stale");
    more.replaceChildren(...lines.map((line) => el("li", {}, line)));
  }

  const add = ({ critical, exact }) =>
    say([...critical.map((one) => one.sentence), exact.sentence ?? exact.missing].filter(Boolean));
  return { node, show, say, add };
}
