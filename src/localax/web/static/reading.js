import { el, freshId } from "./dom.js";

/** What theory predicted, what happened, and why: a sentence each. */
export function readingView() {
  const parts = { predicted: "Predicted", happened: "Happened", why: "Why" };
  const cells = Object.fromEntries(Object.keys(parts).map((name) => [name, el("dd", {}, "–")]));
  const heading = freshId("read");
  const node = el(
    "section",
    { class: "reading", "aria-labelledby": heading, "aria-live": "polite" },
    el("h3", { id: heading }, "Read"),
    el(
      "dl",
      {},
      Object.entries(parts).flatMap(([name, title]) => [el("dt", {}, title), cells[name]]),
    ),
  );
  return {
    node,
    show(run) {
      const none = run.ended || run.lost ? "–" : "comes in a moment";
      for (const name of Object.keys(parts)) cells[name].textContent = run.reading?.[name] || none;
    },
  };
}
