// Tabs by the pattern that screen readers know: one of them is in the order of Tab, arrows move between them.

import { byId } from "./dom.js";

export function makeTabs(list, whenShown) {
  const tabs = [...list.querySelectorAll("[role=tab]")];

  function show(name, { focus = false } = {}) {
    const chosen = tabs.find((tab) => tab.dataset.name === name) ?? tabs[0];
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
    chosen.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (focus) chosen.focus();
    whenShown(chosen.dataset.name);
  }

  function move(event) {
    const here = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(tabs[(to + tabs.length) % tabs.length].dataset.name, { focus: true });
  }

  for (const tab of tabs) tab.addEventListener("click", () => show(tab.dataset.name));
  list.addEventListener("keydown", move);
  return show;
}
