// Somebody's own data: files in, the full prediction out.

import { postForm } from "./api.js";
import { announce, byId, el, plain } from "./dom.js";
import { follow } from "./jobs.js";
import { figureView } from "./report.js";

const KINDS = ".npy,.npz,.csv,.mat,.h5,.hdf5,.png,.jpg,.jpeg,.tif,.tiff";

export function showOwnData(limits) {
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
  const button = el("button", { type: "submit", class: "primary" }, "Predict");
  const chosen = el("p", { class: "caption" });

  const say = () => {
    chosen.textContent = [...samples.files].map((file) => `${file.name}, ${plain(file.size / 1e6)} MB`).join("; ");
  };

  async function predict(event) {
    event.preventDefault();
    problem.textContent = "";
    result.replaceChildren();
    const complaint = wrong(samples.files, limits);
    if (complaint) {
      problem.textContent = complaint;
      return;
    }
    button.disabled = true;
    try {
      result.replaceChildren(...shown(await follow(await postForm("/api/predict", asForm(samples, labels)), progress)));
      announce("The prediction is there.");
    } catch (error) {
      progress.replaceChildren();
      problem.textContent = error.message;
    }
    button.disabled = false;
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
      "pixels; images are cut into patches. Files stay on the machine that serves this page.",
    ),
    el("form", { onsubmit: predict }, drop, button),
    problem,
    progress,
    result,
  );
}

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

function shown({ summary, facts, reasons, notes, figures }) {
  const list = (title, lines) =>
    lines?.length
      ? [
          el("h3", {}, title),
          el(
            "ul",
            { class: "notes" },
            lines.map((line) => el("li", {}, line)),
          ),
        ]
      : [];
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
