// Elements made from data: text goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

let made = 0;
export const freshId = (stem) => `${stem}-${(made += 1)}`;

/** A number as people read it: four digits that matter, no trailing zeros. */
export function plain(value) {
  if (value === null || value === undefined) return "not known";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "minus infinite";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace(/\.?0*e\+?/, "e");
  return String(Number(value.toPrecision(4)));
}

/** Words of the library, which writes plain ASCII, as they are printed. */
export const typeset = (words) => words.replaceAll("+-", "±");

/** Says something to those who listen to the page rather than see it. */
export function announce(words) {
  byId("announcer").textContent = words;
}

/** What happens at most once a frame, with the latest arguments. */
export function oncePerFrame(action) {
  let latest = null;
  return (...given) => {
    if (latest === null)
      requestAnimationFrame(() => {
        const now = latest;
        latest = null;
        action(...now);
      });
    latest = given;
  };
}
