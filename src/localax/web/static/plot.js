// Small line charts that are redrawn many times a second: one SVG of a few paths.

import { el, freshId, plain, svg } from "./dom.js";

const MARGIN = { left: 52, right: 14, top: 8, bottom: 38 };
const HIDDEN = 480; // pixels across for a chart that nobody sees yet

export class Plot {
  /** `title`, `hint` (a node beside the title), `xlabel`, `ylabel`; `logx`, `logy`; `height` in pixels. */
  constructor(options) {
    this.options = { height: 190, xlabel: "", ylabel: "", ...options };
    this.legend = el("ul", { class: "legend" });
    this.readout = el("p", { class: "readout", "aria-hidden": "true" });
    this.picture = svg("svg", { role: "img", class: "plot", "aria-label": options.title });
    const heading = freshId("plot");
    this.node = el(
      "figure",
      { class: "chart", "aria-labelledby": heading },
      el("h3", { id: heading }, options.heading ?? options.title),
      this.legend,
      this.picture,
      this.readout,
    );
    this.data = { lines: [] };
    this.observer = new ResizeObserver(() => this.draw(this.data));
    this.observer.observe(this.picture);
    this.picture.addEventListener("pointermove", (event) => this.read(event));
    this.picture.addEventListener("pointerleave", () => {
      this.readout.textContent = "";
    });
  }

  /**
   * `lines`: {name, x, y, tone, dash, points, labels, faint}; `marks`: {x, name};
   * `words`: what it shows, for those who listen.
   */
  draw(data) {
    this.data = data;
    const width = this.picture.clientWidth || HIDDEN;
    const { height, logx, logy } = this.options;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("height", height);
    if (data.words) this.picture.setAttribute("aria-label", `${this.options.title}. ${data.words}`);
    const lines = data.lines.filter((line) => line.x.length > 0);
    const xs = [...lines.flatMap((line) => line.x), ...(data.marks ?? []).map((mark) => mark.x)];
    this.x = scale(data.xrange ?? extent(xs, logx), MARGIN.left, width - MARGIN.right, logx);
    this.y = scale(
      data.yrange ??
        padded(
          extent(
            lines.flatMap((line) => line.y),
            logy,
          ),
          logy,
        ),
      height - MARGIN.bottom,
      MARGIN.top,
      logy,
    );
    this.picture.replaceChildren(
      ...(lines.length ? this.axes(width, height) : []), // of nothing there is no scale
      ...lines.map((line) => this.line(line)),
      ...this.marks(data.marks ?? [], height),
    );
    this.name(data.lines);
  }

  axes(width, height) {
    const { xlabel, ylabel } = this.options;
    const bottom = height - MARGIN.bottom;
    const across = this.x.ticks.map((at) =>
      svg(
        "g",
        {},
        svg("line", { class: "grid", x1: this.x(at), x2: this.x(at), y1: MARGIN.top, y2: bottom }),
        svg("text", { x: this.x(at), y: bottom + 15, "text-anchor": "middle" }, plain(at)),
      ),
    );
    const up = this.y.ticks.map((at) =>
      svg(
        "g",
        {},
        svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: this.y(at), y2: this.y(at) }),
        svg("text", { x: MARGIN.left - 6, y: this.y(at) + 4, "text-anchor": "end" }, plain(at)),
      ),
    );
    return [
      ...across,
      ...up,
      svg("text", { class: "label", x: (MARGIN.left + width) / 2, y: height - 4, "text-anchor": "middle" }, xlabel),
      svg(
        "text",
        {
          class: "label",
          transform: `translate(11 ${(bottom + MARGIN.top) / 2}) rotate(-90)`,
          "text-anchor": "middle",
        },
        ylabel,
      ),
    ];
  }

  line(line) {
    const shared = { class: `line tone-${line.tone ?? "blue"}`, "stroke-dasharray": line.dash };
    if (line.points) return this.dots(line);
    return svg("path", {
      ...shared,
      class: `${shared.class} ${line.faint ? "faint" : ""}`,
      d: path(line, this.x, this.y),
    });
  }

  /** Points, with their `labels` on the side where there is room. */
  dots(line) {
    const middle = (this.x.from + this.x.to) / 2;
    return svg(
      "g",
      { class: `dots tone-${line.tone}` },
      line.x.map((x, i) => {
        const [cx, cy] = [this.x(x), this.y(line.y[i])];
        const left = cx > middle;
        return [
          svg("circle", { cx, cy, r: line.points }),
          line.labels
            ? svg("text", { x: cx + (left ? -7 : 7), y: cy + 4, "text-anchor": left ? "end" : "start" }, line.labels[i])
            : null,
        ];
      }),
    );
  }

  marks(marks, height) {
    return marks.map(({ x, name }) =>
      svg(
        "g",
        { class: "mark" },
        svg("line", { x1: this.x(x), x2: this.x(x), y1: MARGIN.top, y2: height - MARGIN.bottom }),
        svg("text", { x: this.x(x) + 4, y: MARGIN.top + 11 }, name),
      ),
    );
  }

  name(lines) {
    const shown = lines.filter((line) => line.name);
    const key = shown.map((line) => `${line.name} ${line.tone} ${line.dash}`).join();
    if (key === this.named) return;
    this.named = key;
    this.legend.replaceChildren(...shown.map((line) => el("li", {}, swatch(line), line.name)));
  }

  /** The values under the pointer, in words. */
  read(event) {
    if (!this.x) return;
    const box = this.picture.getBoundingClientRect();
    const at = this.x.inverse(event.clientX - box.left);
    const said = this.data.lines
      .filter((line) => line.name && line.x.length)
      .map((line) => `${line.name} ${plain(line.y[nearest(line.x, at)])}`);
    this.readout.textContent = said.length ? `${this.options.xlabel} ${plain(at)}: ${said.join(", ")}` : "";
  }
}

function swatch(line) {
  return svg(
    "svg",
    { class: "swatch", width: 26, height: 8, "aria-hidden": "true" },
    line.points
      ? svg("circle", { class: `dots tone-${line.tone}`, cx: 13, cy: 4, r: 3.5 })
      : svg("path", { class: `line tone-${line.tone ?? "blue"}`, "stroke-dasharray": line.dash, d: "M0 4H26" }),
  );
}

function path(line, x, y) {
  let pen = "M";
  return line.x
    .map((at, i) => {
      const up = line.y[i];
      if (up === null || !Number.isFinite(y(up)) || at < x.low || at > x.high) {
        pen = "M";
        return "";
      }
      const step = `${pen}${x(at).toFixed(1)} ${y(up).toFixed(1)}`;
      pen = "L";
      return step;
    })
    .join("");
}

function extent(values, log) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || !Number.isFinite(value) || (log && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return log ? [0.1, 1] : [0, 1];
  if (low < high) return [low, high];
  return log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
}

function padded([low, high], log) {
  const room = log ? 0 : 0.06 * (high - low);
  return [low - room, high + room];
}

function scale([low, high], from, to, log) {
  const by = log ? (value) => Math.log10(Math.max(value, 1e-300)) : (value) => value;
  const back = log ? (value) => 10 ** value : (value) => value;
  const [a, b] = [by(low), by(high)];
  const at = (value) => from + ((by(value) - a) / (b - a)) * (to - from);
  Object.assign(at, { low, high, from, to });
  at.inverse = (pixel) => back(a + ((pixel - from) / (to - from)) * (b - a));
  at.ticks = log ? decades(a, b) : rounds(low, high);
  return at;
}

function rounds(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((many) => many * power >= rough) * power;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function decades(a, b) {
  const every = Math.max(1, Math.ceil((b - a) / 6));
  const whole = [];
  for (let power = Math.ceil(a - 1e-9); power <= b + 1e-9; power += every) whole.push(10 ** power);
  return whole.length > 1
    ? whole
    : [10 ** a, 10 ** ((a + b) / 2), 10 ** b].map((value) => Number(value.toPrecision(2)));
}

export function nearest(sorted, value) {
  let [low, high] = [0, sorted.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle;
    else high = middle;
  }
  return Math.abs(sorted[high] - value) < Math.abs(sorted[low] - value) ? high : low;
}
