// All that the page asks of its server: answers, errors in one line, streams of events, and whether it is there at all.

export class Refused extends Error {}
export class Gone extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

const watchers = new Set();
let present = true;

/** Calls with true or false whenever the server comes back or goes away. */
export function whenPresenceChanges(watcher) {
  watchers.add(watcher);
}

function setPresent(now) {
  if (now === present) return;
  present = now;
  for (const watcher of watchers) watcher(now);
  if (!now) lookAgain();
}

function lookAgain() {
  setTimeout(() => fetch("/static/favicon.svg", { cache: "no-store" }).then(() => setPresent(true), lookAgain), 1500);
}

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    setPresent(false);
    throw new Gone();
  }
  setPresent(true);
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Refused(body.error ?? `The server refused (${response.status}).`);
}

const asJson = (body, signal) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
  signal,
});

export const getJson = async (path) => (await answer(path)).json();
export const getText = async (path) => (await answer(path)).text();
export const postJson = async (path, body = {}, signal = undefined) =>
  (await answer(path, asJson(body, signal))).json();
export const postText = async (path, body, signal) => (await answer(path, asJson(body, signal))).text();
export const postForm = async (path, body) => (await answer(path, { method: "POST", body })).json();

/** A question of which only the latest asking matters: earlier ones are given up. */
export function latest(ask) {
  let control = null;
  return async (...given) => {
    control?.abort();
    const mine = (control = new AbortController());
    try {
      return await ask(...given, mine.signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      throw error;
    }
  };
}

/** Work that is never done twice at once: what came meanwhile is done afterwards, the latest of it alone. */
export function oneAtATime(work) {
  let busy = false;
  let next = null;
  return async function go(...given) {
    if (busy) {
      next = given;
      return;
    }
    busy = true;
    try {
      await work(...given);
    } finally {
      busy = false;
      const waiting = next;
      next = null;
      if (waiting) go(...waiting);
    }
  };
}

/** Events by name to functions of their data, until "end"; `lost` is called if the server knows nothing of them. */
export function watch(path, handlers, lost = () => {}) {
  const source = new EventSource(path);
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => {
      setPresent(true);
      if (name === "end") source.close();
      handle(JSON.parse(event.data));
    });
  }
  source.onopen = () => setPresent(true);
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) lost();
    else setPresent(false);
  };
  return source;
}

/** Rows of numbers from a packed array: its last axis (or axes, with `inner`) make a row. */
export function rows(packed, inner = 1) {
  const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
  const numbers = new Float32Array(bytes.buffer);
  const length = packed.shape.slice(packed.shape.length - inner).reduce((a, b) => a * b, 1);
  return Array.from({ length: numbers.length / length }, (_, i) =>
    Array.from(numbers.subarray(i * length, (i + 1) * length)),
  );
}

export const numbers = (packed) => rows(packed, packed.shape.length)[0] ?? [];
