// What one takes along: the run as a file, its pictures, and the lines that make exactly what is on the screen.

import { getText, postText } from "./api.js";
import { announce, byId, el } from "./dom.js";
import { colour } from "./palette.js";
import { asSvg, drawFields } from "./shapes.js";
import { fieldsAt } from "./runs.js";

export class TakeAwayView {
  constructor(train) {
    this.train = train;
    this.file = el("p", {});
    this.problem = el("p", { class: "problem", role: "alert" });
    this.python = code("Python lines");
    this.command = code("Command line");
    this.link = code("Link to this screen");
    this.pictures = el("ul", { class: "notes" });
    byId("take-view").append(
      this.problem,
      el("h2", {}, "The run"),
      this.file,
      el("h2", {}, "Pictures"),
      this.pictures,
      this.python.node,
      this.command.node,
      this.link.node,
    );
  }

  /** For the run in Train, or for the settings where nothing was started. */
  async show(run, settings) {
    this.problem.textContent = "";
    this.link.put(location.href);
    this.file.replaceChildren(
      run?.over && !run.lost
        ? el("a", { href: `/api/runs/${run.state.id}/file`, download: "run.npz", class: "button" }, "Download run.npz")
        : run && !run.lost
          ? "The run can be taken when it is done or stopped."
          : "Nothing was started yet: press Start first.",
    );
    this.pictures.replaceChildren(
      ...(run?.frames.length
        ? this.makers().map(([name, make]) => pictureRow(name, make))
        : [el("li", {}, "Pictures come with the first run.")]),
    );
    await Promise.all([
      this.fill(this.python, "python", run, settings),
      this.fill(this.command, "command", run, settings),
    ]);
  }

  async fill(block, what, run, settings) {
    try {
      block.put(
        run && !run.lost
          ? await getText(`/api/runs/${run.state.id}/${what}`)
          : await postText(`/api/${what}`, { settings }),
      );
    } catch (error) {
      block.put(error.message);
    }
  }

  makers() {
    const { train } = this;
    const field = () =>
      asSvg(
        drawFields(fieldsAt(train.run, train.run.frames[train.at], train.followed), train.run.state.shape, 720, 420),
        720,
        420,
      );
    const plots = { Loss: train.plots.loss, IPR: train.plots.ipr, "C, r and J": train.objective.plot };
    return [["Field", field], ...Object.entries(plots).map(([name, plot]) => [name, () => styled(plot.picture)])];
  }
}

function code(title) {
  const text = el("code", {});
  const copy = el(
    "button",
    { type: "button", "aria-label": `Copy: ${title}`, onclick: () => copied(text.textContent, copy) },
    "Copy",
  );
  return {
    node: el(
      "div",
      { class: "code" },
      el("h2", {}, title),
      copy,
      el("pre", { tabindex: 0, role: "region", "aria-label": title }, text),
    ),
    put: (words) => {
      text.textContent = words;
    },
  };
}

async function copied(words, button) {
  try {
    await navigator.clipboard.writeText(words);
    button.textContent = "Copied";
    announce("Copied");
  } catch {
    button.textContent = "Select it and copy by hand";
  }
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2000);
}

function pictureRow(name, make) {
  const file = name.toLowerCase().replaceAll(/[^a-z]+/g, "-");
  const button = (form, save) =>
    el(
      "button",
      {
        type: "button",
        "aria-label": `${name} as ${form}`,
        onclick: () => save(make(), `${file}.${form.toLowerCase()}`),
      },
      form,
    );
  return el("li", {}, `${name}: `, button("SVG", saveSvg), " ", button("PNG", savePng));
}

const asBlob = (picture) => new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });

const saveSvg = (picture, name) => save(asBlob(picture), name);

/** Twice as fine as on the screen. */
async function savePng(picture, name) {
  const address = URL.createObjectURL(asBlob(picture));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = el("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  canvas.toBlob((blob) => save(blob, name), "image/png");
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A chart with its style written into it, since a file has no style sheet. */
function styled(picture) {
  const copy = picture.cloneNode(true);
  const [from, to] = [picture, copy].map((root) => [...root.querySelectorAll("*")]);
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of ["stroke", "stroke-width", "fill", "opacity", "font-size", "font-family"])
      to[i].setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = picture.viewBox.baseVal;
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height }))
    copy.setAttribute(name, value);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width, height, fill: colour("ground") }))
    ground.setAttribute(name, value);
  copy.prepend(ground);
  return copy;
}
