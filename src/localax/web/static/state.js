// The whole state of the page lives in its address, so that a link reopens what is on the screen.
//
// A nested object becomes readable pairs: {tab: "train", stimulus: {gain: 3}} is #tab=train&stimulus.gain=3.

const listeners = new Set();
let state = read();

export const current = () => state;

/** Puts changes into the address; a new entry of the history only where the person went somewhere. */
export function change(changes, { visit = false } = {}) {
  state = { ...state, ...changes };
  const address = `#${written(state)}`;
  if (address === location.hash) return;
  if (visit) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** Calls with the state when somebody follows a link or goes back. */
export function whenReopened(listener) {
  listeners.add(listener);
}

addEventListener("popstate", () => {
  state = read();
  for (const listener of listeners) listener(state);
});

export function written(value) {
  const pairs = new URLSearchParams();
  for (const [path, leaf] of leaves(value)) pairs.append(path, asText(leaf));
  return pairs.toString();
}

export function read(hash = location.hash) {
  const found = {};
  for (const [path, text] of new URLSearchParams(hash.slice(1))) put(found, path.split("."), asValue(text));
  return found;
}

function* leaves(value, path = []) {
  for (const [name, item] of Object.entries(value)) {
    if (item === null || item === undefined) continue;
    if (typeof item === "object" && !Array.isArray(item)) yield* leaves(item, [...path, name]);
    else yield [[...path, name].join("."), item];
  }
}

function put(target, path, value) {
  const [name, ...rest] = path;
  if (["__proto__", "constructor", "prototype"].includes(name)) return;
  if (rest.length === 0) target[name] = value;
  else put((target[name] = typeof target[name] === "object" ? target[name] : {}), rest, value);
}

function asValue(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Strings stay as they are unless they would be read as something else. */
function asText(value) {
  return typeof value === "string" && typeof asValue(value) === "string" && !value.startsWith('"')
    ? value
    : JSON.stringify(value);
}
