// Colours of the drawings, from the style sheet, so that light and dark are said in one place.
// Each goes with a dash of its own: no curve hangs on colour alone.

export const TONES = ["blue", "red", "green", "purple", "orange", "ink"];
export const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 4", "4 2"];

const dark = matchMedia("(prefers-color-scheme: dark)");
const known = new Map();
dark.addEventListener("change", () => known.clear());

export function colour(name) {
  if (!known.has(name))
    known.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return known.get(name);
}

/** Calls again whenever the system goes from light to dark or back. */
export function whenThemeChanges(action) {
  dark.addEventListener("change", action);
}
