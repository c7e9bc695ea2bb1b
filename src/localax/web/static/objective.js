// What a ReLU neuron maximises (J = C/sqrt(1 + r)): where the field is, where it came from and where it could go.

import { el, plain } from "./dom.js";
import { factList, term } from "./hints.js";
import { Plot } from "./plot.js";

const LEVELS = 4;

export class ObjectiveView {
  constructor() {
    this.plot = new Plot({
      title: "What a ReLU neuron maximises",
      heading: term("objective", "What a ReLU neuron maximises: J"),
      xlabel: "variance ratio r",
      ylabel: "Geary's ratio C",
      height: 250,
    });
    this.facts = factList({ geary: "C", ratio: "r", objective: "J" });
    this.places = el("ul", { class: "notes" });
    this.node = el("div", {}, this.plot.node);
    this.plot.node.append(this.facts.node, this.places);
  }

  draw(run, chosen, at) {
    const frames = run.frames.slice(0, at + 1).filter((frame) => frame.geary?.[chosen] != null);
    const here = frames.at(-1);
    const x = frames.map((frame) => frame.ratio[chosen]);
    const y = frames.map((frame) => frame.geary[chosen]);
    const points = run.landscape?.points ?? [];
    const now = here ? [{ name: "now", x: x.slice(-1), y: y.slice(-1), tone: "blue", points: 5.5 }] : [];
    const could = points.length
      ? [
          {
            name: "where it could go",
            x: points.map((p) => p.ratio),
            y: points.map((p) => p.geary),
            tone: "red",
            points: 4,
            labels: points.map((p) => p.title),
          },
        ]
      : [];
    this.plot.draw({
      lines: [
        ...levels([...x, ...points.map((p) => p.ratio)], [...y, ...points.map((p) => p.geary)]),
        { name: "its way", x, y, tone: "blue", dash: "" },
        ...could,
        ...now,
      ],
      words: here ? `J is ${plain(here.objective[chosen])}.` : "",
    });
    this.tell(here, chosen, points);
  }

  tell(here, chosen, points) {
    const names = ["geary", "ratio", "objective"];
    if (here) this.facts.set(Object.fromEntries(names.map((name) => [name, plain(here[name][chosen])])));
    const best = Math.max(...points.map((point) => point.objective));
    const said = points.map(
      ({ title, objective }) => `${title}: J ${plain(objective)}${objective === best ? ", the best of these" : ""}`,
    );
    this.places.replaceChildren(...said.map((line) => el("li", {}, line)));
  }
}

/** Lines of equal J: C = J sqrt(1 + r). */
function levels(xs, ys) {
  if (xs.length < 2) return [];
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const values = xs.map((x, i) => ys[i] / Math.sqrt(1 + x));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (!(most > least) || !(high > low)) return [];
  const x = Array.from({ length: 30 }, (_, i) => low + ((high - low) * i) / 29);
  return Array.from({ length: LEVELS }, (_, i) => least + ((most - least) * (i + 0.5)) / LEVELS).map((value, i) => ({
    name: i ? "" : "equal J",
    x,
    y: x.map((at) => value * Math.sqrt(1 + at)).map((c) => (c < Math.min(...ys) || c > Math.max(...ys) ? null : c)),
    tone: "ink",
    dash: "2 3",
    faint: true,
  }));
}
