// What a quantity means and its equation, shown when the pointer or the focus comes to it.

import { byId, el, typeset } from "./dom.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
let glossary = {};
let owner = null;

export function setGlossary(quantities) {
  glossary = quantities;
}

export const equationOf = (name) => glossary[name]?.mathml;

/** A word with its meaning behind it, reached by pointer and by Tab; plain text where nothing is known of it. */
export function term(name, words = glossary[name]?.name ?? name) {
  const known = glossary[name];
  if (!known) return el("span", {}, words);
  return explain(el("button", { type: "button", class: "term" }, words), known);
}

/** Lets a node show the meaning and equation of something; `over` is the wider part that reacts to the pointer. */
export function explain(node, about, over = node) {
  if (!about?.meaning && !about?.mathml) return node;
  node.addEventListener("focus", () => show(node, about));
  node.addEventListener("blur", hide);
  over.addEventListener("pointerenter", () => show(node, about));
  over.addEventListener("pointerleave", (event) => {
    if (!byId("hint").contains(event.relatedTarget)) hide();
  });
  return node;
}

function show(node, about) {
  hide();
  const hint = byId("hint");
  hint.replaceChildren(el("p", {}, typeset(about.meaning ?? "")), ...[formula(about.mathml)].filter(Boolean));
  hint.hidden = false;
  owner = node;
  node.setAttribute("aria-describedby", [node.getAttribute("aria-describedby"), "hint"].filter(Boolean).join(" "));
  place(hint, node);
}

function hide() {
  byId("hint").hidden = true;
  const others = (owner?.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== "hint");
  if (others.length) owner.setAttribute("aria-describedby", others.join(" "));
  else owner?.removeAttribute("aria-describedby");
  owner = null;
}

/** Below the node, or above it where there is no room; beside the column of settings, whose sliders stay in sight. */
function place(hint, node) {
  const at = node.getBoundingClientRect();
  const column = node.closest("#bench")?.getBoundingClientRect();
  const beside = column && column.right + hint.offsetWidth < innerWidth;
  const below = beside ? at.top : at.bottom + 4;
  const left = beside ? column.right + 4 : Math.max(8, Math.min(at.left, innerWidth - hint.offsetWidth - 8));
  const top = below + hint.offsetHeight < innerHeight ? below : Math.max(8, at.top - hint.offsetHeight - 4);
  hint.style.setProperty("left", `${left}px`);
  hint.style.setProperty("top", `${top}px`);
}

export function startHints() {
  byId("hint").addEventListener("pointerleave", hide);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  addEventListener("input", hide);
  addEventListener("scroll", hide, { capture: true, passive: true });
}

/** Server-made MathML as nodes: only parts of formulas come through, whatever the text holds. */
export function formula(markup) {
  if (!markup) return null;
  const parsed = new DOMParser().parseFromString(markup, "text/html").querySelector("math");
  return parsed && onlyMath(parsed);
}

const named = (...lines) => new Set(lines.join(" ").split(" "));
const PARTS = named(
  "math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup",
  "munder mover munderover mtable mtr mtd mstyle",
);
const MAY = named(
  "display displaystyle scriptlevel mathvariant stretchy fence form separator accent largeop movablelimits",
  "lspace rspace width minsize maxsize linethickness columnalign columnspacing rowspacing",
);

function onlyMath(node) {
  const name = node.localName;
  if (!PARTS.has(name)) return document.createTextNode(node.textContent);
  const copy = document.createElementNS(MATHML, name);
  for (const { name: attribute, value } of node.attributes) if (MAY.has(attribute)) copy.setAttribute(attribute, value);
  for (const child of node.childNodes)
    copy.append(child.nodeType === Node.ELEMENT_NODE ? onlyMath(child) : child.textContent);
  return copy;
}

/** A list of numbers with their meanings; `set` fills them in. `names`: what each quantity is called here. */
export function factList(names) {
  const cells = Object.fromEntries(Object.keys(names).map((name) => [name, el("dd", {}, "–")]));
  const rows = Object.entries(names).flatMap(([name, words]) => [el("dt", {}, term(name, words)), cells[name]]);
  return {
    node: el("dl", { class: "facts" }, rows),
    set(values) {
      for (const [name, words] of Object.entries(values)) cells[name].textContent = words;
    },
  };
}
