// Figures of the report as charts that one can point at, by plotly. It comes with its own package, when first needed.

import { el } from "./dom.js";
import { colour, TONES, whenThemeChanges } from "./palette.js";

const PLOTLY_DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "cross"];
let loading = null;

function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = el("script", {
      src: "/plotly.min.js",
      onload: () => resolve(window.Plotly),
      onerror: () => reject(new Error("The charts' library did not come.")),
    });
    document.head.append(script);
  });
  return loading;
}

/** Charts of a figure's panels, in rows as on paper; all have their places before one is drawn to fit its own. */
export async function drawFigure(node, figure) {
  const library = await plotly();
  const panels = figure.rows.flat().map((panel) => ({ panel, place: placeOf(panel) }));
  for (const row of figure.rows) {
    const mine = panels.filter(({ panel }) => row.includes(panel)).map(({ place }) => place);
    node.append(el("div", { class: "panels" }, mine));
  }
  for (const { panel, place } of panels) if (panel.kind !== "Table") await drawPanel(library, place, panel);
}

const placeOf = (panel) =>
  panel.kind === "Table"
    ? tableOf(panel)
    : el("div", { class: "panel", role: "group", "aria-label": panel.title || "panel" });

function drawPanel(library, place, panel) {
  const draw = () =>
    library.react(place, TRACES[panel.kind](panel), layout(panel), { displaylogo: false, responsive: true });
  whenThemeChanges(draw);
  return draw();
}

const shade = (i) => colour(TONES[i % TONES.length]);
const marker = (i) => ({ color: shade(i), symbol: SYMBOLS[i % SYMBOLS.length] });
const counting = (values) => values.map((_, i) => i);

const TRACES = {
  Lines: ({ x, curves, points }) => [
    ...Object.entries(curves).map(([name, y], i) => ({
      x,
      y,
      name,
      mode: "lines",
      line: { color: shade(i), dash: PLOTLY_DASHES[i % 6] },
    })),
    ...Object.entries(points ?? {}).map(([name, y], i) => ({
      x,
      y,
      name: `${name}, measured`,
      mode: "markers",
      marker: marker(indexOf(curves, name, i)),
    })),
  ],
  Scatter: ({ groups, joined }) =>
    Object.entries(groups).map(([name, [x, y, error]], i) => ({
      x,
      y,
      name,
      mode: joined ? "lines+markers" : "markers",
      marker: marker(i),
      line: { dash: PLOTLY_DASHES[i % 6] },
      error_y: error ? { array: error } : undefined,
    })),
  Histogram: ({ edges, density, exact }) => {
    const x = density.map((_, i) => (edges[i] + edges[i + 1]) / 2);
    return [
      { type: "bar", x, y: density, name: "sampled", marker: { color: shade(0) } },
      ...(exact ? [{ x, y: exact, name: "exact", mode: "lines", line: { color: shade(1) } }] : []),
    ];
  },
  Heatmap: ({ values, extent }) => [
    {
      type: "heatmap",
      z: values,
      colorscale: "Cividis",
      ...(extent
        ? {
            x0: extent[0],
            dx: (extent[1] - extent[0]) / values[0].length,
            y0: extent[2],
            dy: (extent[3] - extent[2]) / values.length,
          }
        : {}),
    },
  ],
  Diagram: ({ x, y, values, curves }) => [
    { type: "heatmap", x, y, z: values, colorscale: "Cividis" },
    ...Object.entries(curves ?? {}).map(([name, [a, b]], i) => ({
      x: a,
      y: b,
      name,
      mode: "lines",
      line: { color: colour("above"), dash: PLOTLY_DASHES[i % 6], width: 3 },
    })),
  ],
  Fields: ({ values, labels }) =>
    Array.isArray(values[0]?.[0])
      ? [
          {
            type: "heatmap",
            z: values.flatMap((field) => [...field, field[0].map(() => null)]),
            colorscale: "RdBu",
            zmid: 0,
          },
        ]
      : values.map((y, i) => ({
          x: counting(y),
          y,
          name: labels?.[i] ?? `field ${i}`,
          mode: "lines",
          line: { color: shade(i), dash: PLOTLY_DASHES[i % 6] },
        })),
};

const indexOf = (curves, name, otherwise) => {
  const at = Object.keys(curves).indexOf(name);
  return at < 0 ? otherwise : at;
};

function layout(panel) {
  const axis = (title, log) => ({
    title: { text: title ?? "" },
    type: log ? "log" : undefined,
    gridcolor: colour("grid"),
    zerolinecolor: colour("grid"),
  });
  return {
    title: { text: plainText(panel.title), font: { size: 14 } },
    height: 300,
    margin: { t: 40, r: 10, b: 45, l: 55 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("ink"), size: 12 },
    xaxis: axis(plainText(panel.xlabel), panel.logx),
    yaxis: axis(plainText(panel.ylabel), panel.logy),
    legend: { orientation: "h", y: -0.35 },
    shapes: Object.values(panel.marks ?? {}).map((x) => ({
      type: "line",
      x0: x,
      x1: x,
      yref: "paper",
      y0: 0,
      y1: 1,
      line: { color: colour("soft"), dash: "dot" },
    })),
  };
}

/** Plotly reads markup in its words; ours has none. */
const plainText = (words) => (words ?? "").replaceAll("<", "‹").replaceAll(">", "›").replaceAll("$", "");

function tableOf({ title, columns, rows }) {
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": title || "Table" },
    el(
      "table",
      {},
      title ? el("caption", {}, title) : null,
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          columns.map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            row.map((cell) => el("td", {}, cell === null ? "–" : String(cell))),
          ),
        ),
      ),
    ),
  );
}
