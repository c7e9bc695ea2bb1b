// Somebody's own data: files in, the full prediction out.

import { postForm } from "./api.js";
import { announce, byId, el, plain } from "./dom.js";
import { follow } from "./jobs.js";
import { figureView } from "./report.js";

const KINDS = ".npy,.npz,.csv,.mat,.h5,.hdf5,.png,.jpg,.jpeg,.tif,.tiff";

/** `use(kept)` hears of data that can be looked at and trained on. */
export function showOwnData(limits, use) {
  const samples = el("input", {
    type: "file",
    id: "samples-file",
    multiple: true,
    accept: KINDS,
    onchange: () => say(),
  });
  const labels = el("input", { type: "file", id: "labels-file", accept: KINDS });
  const problem = el("p", { class: "problem", role: "alert" });
  const progress = el("div", {});
  const result = el("div", { class: "result", "aria-live": "polite" });
  const predicts = el("button", { type: "submit", class: "primary" }, "Predict");
  const keeps = el("button", { type: "button", onclick: () => bring("/api/data", taken) }, "Use as stimulus");
  const chosen = el("p", { class: "caption" });

  const say = () => {
    chosen.textContent = [...samples.files].map((file) => `${file.name}, ${sizeOf(file)}`).join("; ");
  };

  /** Sends the files to a path of the server, and does something with what comes of them. */
  async function bring(path, done) {
    problem.textContent = wrong(samples.files, limits);
    result.replaceChildren();
    if (problem.textContent) return;
    predicts.disabled = keeps.disabled = true;
    try {
      done(await follow(await postForm(path, asForm(samples, labels)), progress));
    } catch (error) {
      progress.replaceChildren();
      problem.textContent = error.message;
    }
    predicts.disabled = keeps.disabled = false;
  }

  function predicted(found) {
    result.replaceChildren(...shown(found));
    announce("The prediction is there.");
  }

  function taken(kept) {
    result.replaceChildren(...list("To keep in mind", kept.notes));
    use(kept);
  }

  const drop = el(
    "div",
    { class: "drop" },
    el("label", { for: "samples-file" }, "Samples: drop a file here or choose one"),
    samples,
    chosen,
    el("label", { for: "labels-file" }, "Labels, 0 or 1 for each sample (may be left out)"),
    labels,
  );
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    samples.files = event.dataTransfer.files;
    say();
  });
  byId("own-view").append(
    el(
      "p",
      {},
      "Would a network that learns from your data grow local receptive fields? Rows are samples and columns are ",
      "pixels; images are cut into patches. ",
      el("strong", {}, "Predict"),
      " answers that for one neuron; ",
      el("strong", {}, "Use as stimulus"),
      " takes them to Stimulus and Train, to look at and to train on. Files stay on the machine that serves this page.",
    ),
    el(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          bring("/api/predict", predicted);
        },
      },
      drop,
      el("div", { class: "buttons" }, predicts, keeps),
    ),
    problem,
    progress,
    result,
  );
}

const sizeOf = ({ size }) => (size < 1e6 ? `${plain(Math.ceil(size / 1e3))} kB` : `${plain(size / 1e6)} MB`);

function wrong(files, limits) {
  if (!files.length) return "Choose a file of samples first: npy, npz, csv, mat, h5 or images.";
  const size = [...files].reduce((sum, file) => sum + file.size, 0);
  return limits?.upload && size > limits.upload
    ? `The files have ${plain(size / 1e6)} MB; at most ${plain(limits.upload / 1e6)} MB come through.`
    : "";
}

function asForm(samples, labels) {
  const form = new FormData();
  for (const file of samples.files) form.append("samples", file);
  if (labels.files.length) form.append("labels", labels.files[0]);
  return form;
}

function list(title, lines) {
  const items = (lines ?? []).map((line) => el("li", {}, line));
  return items.length ? [el("h3", {}, title), el("ul", { class: "notes" }, items)] : [];
}

function shown({ summary, facts, reasons, notes, figures }) {
  return [
    el("h2", {}, "Prediction"),
    ...(summary ?? "").split(/\n+/).map((words) => el("p", {}, words)),
    el(
      "dl",
      { class: "facts" },
      (facts ?? []).map(([name, words]) => [el("dt", {}, name), el("dd", {}, words)]),
    ),
    ...list("Why", reasons),
    ...list("To keep in mind", notes),
    ...(figures ?? []).map(figureView),
  ];
}
