// Fields as shapes: paths with a colour and a dash, and words. A canvas shows them, a file of SVG keeps them.
//
// In one dimension a field is a line over pixels, in two a tile of coloured squares.

import { svg } from "./dom.js";
import { colour } from "./palette.js";

const STEPS = 24; // shades on each side of zero
const GAP = 6;
const HEAD = 16;

/**
 * Shapes of fields side by side. `fields`: {name, values, tone, chosen, others: [{name, values, tone, dash}]};
 * `shape`: of the pixels; `columns`: how many side by side, else as many as come out largest.
 */
export function drawFields(fields, shape, width, height, columns = undefined) {
  const plane = shape.length === 2;
  const boxes = plane ? [...fields, ...theoryOf(fields)] : fields;
  const grid = arrange(boxes.length, width, height, plane ? shape[1] / shape[0] : 2.2, columns);
  return boxes.flatMap((field, i) => {
    const box = {
      x: (i % grid.columns) * grid.width,
      y: Math.floor(i / grid.columns) * grid.height,
      width: grid.width,
      height: grid.height,
    };
    return [...title(field, box), ...(plane ? tile(field.values, shape, inside(box)) : curves(field, inside(box)))];
  });
}

/** Tiles cannot lie over each other: what theory says of the chosen field gets tiles of its own. */
function theoryOf(fields) {
  const chosen = fields.find((field) => field.chosen) ?? fields[0];
  return chosen?.others ?? [];
}

/** The columns at which boxes of about this aspect come out largest. */
function arrange(count, width, height, aspect, wanted) {
  let best = null;
  for (let columns = wanted ?? 1; columns <= (wanted ?? count); columns += 1) {
    const size = { columns, width: width / columns, height: height / Math.ceil(count / columns) };
    const fit = Math.min(size.width, size.height * aspect);
    if (!best || fit > best.fit) best = { ...size, fit };
  }
  return best ?? { columns: 1, width, height };
}

const inside = (box) => ({
  x: box.x + GAP,
  y: box.y + HEAD + 2,
  width: box.width - 2 * GAP,
  height: box.height - HEAD - GAP - 2,
});

function title(field, box) {
  const frame = `M${box.x + 1} ${box.y + 1}h${box.width - 2}v${box.height - 2}h${2 - box.width}z`;
  return [
    ...(field.chosen ? [{ d: frame, stroke: colour("line"), width: 1 }] : []),
    {
      text: field.name,
      x: box.x + GAP,
      y: box.y + HEAD - 3,
      fill: colour(field.chosen ? "ink" : "soft"),
      bold: field.chosen,
      width: box.width - GAP,
    },
  ];
}

export function largest(values) {
  return values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0) || 1;
}

/** A field and each theory of it as lines over pixels, with zero in sight. */
function curves(field, box) {
  const all = [field, ...(field.others ?? [])];
  const finite = all.flatMap((one) => one.values).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...finite), Math.max(0, ...finite)];
  const up = (value) => box.y + (box.height * (high - (Number.isFinite(value) ? value : 0))) / (high - low || 1);
  const zero = { d: `M${box.x} ${up(0).toFixed(1)}h${box.width}`, stroke: colour("grid"), width: 1 };
  return [
    zero,
    ...all.map(({ values, tone, dash }, i) => ({
      d: polyline(values, box, up),
      stroke: colour(tone ?? "blue"),
      dash,
      width: i ? 1.5 : 2,
    })),
  ];
}

function polyline(values, box, up) {
  const step = box.width / Math.max(1, values.length - 1);
  return values.map((value, i) => `${i ? "L" : "M"}${(box.x + i * step).toFixed(1)} ${up(value).toFixed(1)}`).join("");
}

/** Squares of few shades: one path for each shade. */
function tile(values, [height, width], box) {
  const top = largest(values);
  const side = Math.min(box.width / width, box.height / height);
  const shades = new Map();
  values.forEach((value, i) => {
    const shade = Math.round((STEPS * (Number.isFinite(value) ? value : 0)) / top);
    const [x, y, s] = [box.x + (i % width) * side, box.y + Math.floor(i / width) * side, side].map((one) =>
      one.toFixed(2),
    );
    const square = `M${x} ${y}h${s}v${s}h-${s}z`;
    shades.set(shade, (shades.get(shade) ?? "") + square);
  });
  return [...shades].map(([shade, d]) => ({ d, fill: shaded(shade / STEPS) }));
}

/** Blue below zero, orange above, the ground's own colour at zero. */
function shaded(level) {
  const [from, to] = [colour("zero"), colour(level < 0 ? "below" : "above")].map(parts);
  const mixed = from.map((part, i) => Math.round(part + (to[i] - part) * Math.abs(level)));
  return `rgb(${mixed.join(" ")})`;
}

const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** Puts shapes on a canvas, sharp on every screen. */
export function paint(canvas, make) {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  for (const shape of make(width, height)) stroke(pen, shape);
}

function stroke(pen, shape) {
  if (shape.text !== undefined) {
    pen.font = `${shape.bold ? "600 " : ""}12px system-ui, sans-serif`;
    pen.fillStyle = shape.fill;
    pen.fillText(shape.text, shape.x, shape.y, shape.width);
    return;
  }
  const path = new Path2D(shape.d);
  if (shape.fill) {
    pen.fillStyle = shape.fill;
    pen.fill(path);
    return;
  }
  pen.strokeStyle = shape.stroke;
  pen.lineWidth = shape.width;
  pen.lineJoin = "round";
  pen.setLineDash((shape.dash || "").split(" ").filter(Boolean).map(Number));
  pen.stroke(path);
}

/** The same shapes as a picture of SVG. */
export function asSvg(shapes, width, height) {
  return svg(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    svg("rect", { width, height, fill: colour("ground") }),
    shapes.map((shape) =>
      shape.text !== undefined
        ? svg(
            "text",
            {
              x: shape.x,
              y: shape.y,
              fill: shape.fill,
              "font-family": "sans-serif",
              "font-size": 12,
              "font-weight": shape.bold ? 600 : 400,
            },
            shape.text,
          )
        : svg("path", {
            d: shape.d,
            fill: shape.fill ?? "none",
            stroke: shape.stroke,
            "stroke-width": shape.width,
            "stroke-dasharray": shape.dash,
          }),
    ),
  );
}
