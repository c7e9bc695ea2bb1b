// Colours of the drawings, from the style sheet, so that light and dark are said in one place.
// Each goes with a dash of its own: no curve hangs on colour alone.

export const TONES = ["blue", "red", "green", "purple", "orange", "ink"];
export const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 4", "4 2"];

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Calls again whenever the system goes from light to dark or back. */
export function whenThemeChanges(action) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", action);
}
