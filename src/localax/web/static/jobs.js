// Work that takes a while on the server: its progress in a bar and in words, its end, and a way to stop it.

import { postJson, watch } from "./api.js";
import { el, plain } from "./dom.js";

/** Follows a job until it ends; resolves with its result, or throws the one line that says why there is none. */
export function follow(job, place) {
  const bar = el("progress", { max: 1, "aria-label": "Progress" });
  const words = el("span", { role: "status" }, waiting(job));
  const stop = el(
    "button",
    {
      type: "button",
      onclick: () =>
        postJson(`/api/jobs/${job.id}/stop`).catch((error) => {
          words.textContent = error.message;
        }),
    },
    "Stop it",
  );
  place.replaceChildren(el("div", { class: "job" }, bar, words, stop));
  return new Promise((resolve, reject) => {
    watch(
      `/api/jobs/${job.id}/events`,
      {
        progress: (now) => {
          if (now.fraction !== null && now.fraction !== undefined) bar.value = now.fraction;
          words.textContent = now.status === "queued" ? waiting(now) : inWords(now);
        },
        end: (now) => {
          place.replaceChildren();
          if (now.status === "done") resolve(now.result);
          else reject(new Error(now.message || `It ended: ${now.status}.`));
        },
      },
      () => reject(new Error("The server has forgotten this work; start it again.")),
    );
  });
}

const waiting = ({ place }) => (place ? `Waiting, ${place} in line` : "Begins");

function inWords({ fraction, seconds, left }) {
  const parts = [
    fraction ? `${Math.round(100 * fraction)}%` : "Running",
    seconds ? `${plain(Math.round(seconds))} s so far` : "",
    left ? `about ${plain(Math.round(left))} s left` : "",
  ];
  return parts.filter(Boolean).join(", ");
}
