// Form fields from the catalogue: a new stimulus, network or setting appears here without a line of its own.
//
// A field becomes a control; a control has a node and tells each new value to whoever made it.

import { byId, el, freshId, typeset } from "./dom.js";
import { equationOf, explain } from "./hints.js";

const CLASSES = ["short class", "long class"];

/** Settings of a kind with everything that is left out at its default. */
export function filledIn(kind, given = {}) {
  const value = { kind: kind.kind };
  for (const field of kind.fields) value[field.name] = given[field.name] ?? structuredClone(field.default);
  return value;
}

/** A choice among kinds, and the fields of the chosen one. `tell(value)` hears of every change. */
export function kindForm(label, kinds, value, tell) {
  const node = el("div", { class: "kind" });
  const choose = (name) => {
    const kind = kinds.find((one) => one.kind === name) ?? kinds[0];
    const next = kind.kind === value.kind ? filledIn(kind, value) : filledIn(kind, shared(kind, value));
    show(kind, next);
    tell(next);
  };
  const show = (kind, now) => {
    value = now;
    const select = el(
      "select",
      {
        onchange: (event) => {
          choose(event.target.value);
          node.querySelector("select").focus();
        },
      },
      kinds.map((one) =>
        el(
          "option",
          { value: one.kind, selected: one.kind === kind.kind, disabled: one.ready === false },
          one.ready === false ? `${one.kind} (${one.note})` : one.kind,
        ),
      ),
    );
    node.replaceChildren(
      labelled(label, select, kind),
      el("p", { class: "meaning" }, typeset(kind.meaning)),
      ...fieldControls(kind.fields, value, (name, item) => {
        value = { ...value, [name]: item };
        tell(value);
      }),
    );
  };
  const found = kinds.find((one) => one.kind === value?.kind) ?? kinds[0];
  show(found, filledIn(found, value ?? {}));
  return node;
}

/** What two kinds call by the same name goes along: the size, a lengthscale. */
function shared(kind, value) {
  const same = kind.fields.filter((field) => field.name in value && sameForm(field.default, value[field.name]));
  return Object.fromEntries(same.map((field) => [field.name, value[field.name]]));
}

const sameForm = (a, b) => typeof [a].flat()[0] === typeof [b].flat()[0] && typeof [b].flat()[0] !== "object";

export function fieldControls(fields, value, tell) {
  return fields.map((field) => control(field, value[field.name] ?? field.default, (item) => tell(field.name, item)));
}

/** The control of one field; a field that may differ between classes has a switch for it. */
function control(field, value, tell) {
  if (!field.per_class || field.type === "size") return single(field, field.label, value, tell);
  const node = el("fieldset", { class: "by-class" });
  const show = (now) => {
    const split = isSplit(field, now);
    const toggle = el("input", {
      type: "checkbox",
      checked: split,
      onchange: () => {
        const next = split ? now[now.length - 1] : [now, structuredClone(now)];
        tell(next);
        show(next);
        node.querySelector("input[type=checkbox]").focus();
      },
    });
    const parts = split
      ? now.map((item, i) =>
          single(field, `${field.label}, ${CLASSES[i] ?? `class ${i}`}`, item, (one) => {
            now = now.with(i, one);
            tell(now);
          }),
        )
      : [
          single(field, field.label, now, (one) => {
            now = one;
            tell(now);
          }),
        ];
    node.replaceChildren(
      el("legend", {}, field.label),
      el("label", { class: "switch" }, toggle, "one per class"),
      ...parts,
    );
  };
  show(value);
  return node;
}

const isSplit = (field, value) => Array.isArray(field.type === "numbers" ? value[0] : value);

function single(field, label, value, tell) {
  const make =
    { number: slider, integer: slider, boolean: tick, choice, size, file, object: nested, numbers: text }[field.type] ??
    text;
  return make(field, label, value, tell);
}

function labelled(label, input, about, extra = []) {
  input.id = input.id || freshId("field");
  const row = el("div", { class: "row" }, el("label", { for: input.id }, label), input, ...extra);
  explain(input, { meaning: hintOf(about), mathml: equationOf(about.name) }, row);
  return row;
}

const hintOf = ({ meaning, range }) => [meaning, range].filter(Boolean).join("; ");

/** A slider over the usual range beside a number that may go beyond it. */
function slider(field, label, value, tell) {
  const bounds = {
    low: field.min ?? 0,
    high: field.max ?? 1,
    log: field.scale === "log",
    whole: field.type === "integer",
  };
  const number = el("input", {
    type: "number",
    value,
    min: field.lowest ?? undefined,
    max: field.highest ?? undefined,
    step: bounds.whole ? 1 : "any",
    class: "number",
  });
  const range = el("input", {
    type: "range",
    min: 0,
    max: 1000,
    value: position(value, bounds),
    "aria-label": `${label}, slider`,
    "aria-valuetext": String(value),
  });
  const take = (now, from) => {
    if (!Number.isFinite(now)) return;
    if (from !== number) number.value = now;
    if (from !== range) range.value = position(now, bounds);
    range.setAttribute("aria-valuetext", String(now));
    tell(now);
  };
  range.addEventListener("input", () => take(rounded(value1000(Number(range.value), bounds), field, bounds), range));
  number.addEventListener("input", () => {
    if (number.value !== "") take(Number(number.value), number);
  });
  explain(range, { meaning: hintOf(field), mathml: equationOf(field.name) });
  return labelled(label, number, field, [range]);
}

const by = (log) => (log ? Math.log : (value) => value);

function position(value, { low, high, log }) {
  const [a, b, now] = [low, high, Math.min(high, Math.max(low, value))].map(by(log));
  return Math.round((1000 * (now - a)) / (b - a || 1));
}

function value1000(place, { low, high, log }) {
  const [a, b] = [low, high].map(by(log));
  const inside = a + ((b - a) * place) / 1000;
  return log ? Math.exp(inside) : inside;
}

function rounded(value, field, { whole }) {
  if (whole) return Math.round(value);
  return field.step
    ? Number((Math.round(value / field.step) * field.step).toPrecision(8))
    : Number(value.toPrecision(3));
}

function tick(field, label, value, tell) {
  return labelled(
    label,
    el("input", { type: "checkbox", checked: value, onchange: (event) => tell(event.target.checked) }),
    field,
  );
}

/** A choice among words, or among lists of numbers. */
function choice(field, label, value, tell) {
  const named = (one) => (Array.isArray(one) ? one.join(", ") : String(one));
  const select = el(
    "select",
    { onchange: () => tell(field.choices[select.selectedIndex]) },
    field.choices.map((one) => el("option", { selected: named(one) === named(value) }, named(one))),
  );
  return labelled(label, select, field);
}

function text(field, label, value, tell) {
  const shown = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  const read = (words) =>
    field.type === "numbers"
      ? words
          .split(",")
          .map(Number)
          .filter((one) => !Number.isNaN(one))
      : words;
  return labelled(
    label,
    el("input", { type: "text", value: shown, oninput: (event) => tell(read(event.target.value)) }),
    field,
  );
}

/** A file of one's own, which is dropped at one place for all that is done with it. */
function file(field, label, value) {
  const button = el(
    "button",
    { type: "button", class: "file", onclick: () => byId("tab-own").click() },
    ownName(value) || "Choose a file",
  );
  return labelled(label, button, field);
}

/** What a person calls data that the server calls by a key of its own. */
export const ownName = (value) => String(value ?? "").replace(/^[^/]*\//, "");

/** A ring of so many pixels, or a torus of two sides. */
function size(field, label, value, tell) {
  const node = el("div", { class: "size" });
  const side = (name, now, heard) => slider({ ...field, type: "integer" }, name, now, heard);
  const show = (now) => {
    const torus = Array.isArray(now);
    const shapes = el(
      "select",
      {
        onchange: (event) => {
          const next = event.target.value === "torus" ? [16, 16] : 40;
          tell(next);
          show(next);
          node.querySelector("select").focus();
        },
      },
      el("option", { value: "ring", selected: !torus }, "ring"),
      el("option", { value: "torus", selected: torus }, "torus"),
    );
    const sides = torus
      ? ["height", "width"].map((name, i) =>
          side(name, now[i], (one) => {
            now = now.with(i, one);
            tell(now);
          }),
        )
      : [
          side(label, now, (one) => {
            now = one;
            tell(now);
          }),
        ];
    node.replaceChildren(labelled("pixels on a", shapes, field), ...sides);
  };
  show(value);
  return node;
}

function nested(field, label, value, tell) {
  return el("div", { class: "nested" }, kindForm(label, field.options, value, tell));
}
