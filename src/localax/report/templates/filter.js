// Filters claims by verdict, source and words. The choice is part of the address, so that a view can be linked; an
// address without "=" is a place in the page.
"use strict";
const form = document.getElementById("filters");
const claims = [...document.querySelectorAll(".claim")];
let told = null;
const text = new Map(claims.map((claim) => {
  const experiment = claim.closest(".experiment");
  return [claim, `${experiment.id} ${experiment.querySelector("h3").textContent} ${claim.textContent}`.toLowerCase()];
}));

function chosen() {
  const data = new FormData(form);
  return { verdict: data.getAll("verdict"), source: data.get("source"), words: data.get("words").trim().toLowerCase() };
}

function fits(claim, { verdict, source, words }) {
  return (verdict.length === 0 || verdict.includes(claim.dataset.verdict))
    && (source === "" || claim.dataset.source === source)
    && words.split(/\s+/).every((word) => text.get(claim).includes(word));
}

function show() {
  const choice = chosen(), active = choice.verdict.length > 0 || choice.source !== "" || choice.words !== "";
  for (const claim of claims) claim.hidden = !fits(claim, choice);
  for (const sign of document.querySelectorAll(".signs a")) sign.hidden = document.querySelector(sign.hash).hidden;
  for (const experiment of document.querySelectorAll(".experiment"))
    experiment.hidden = active && experiment.querySelector(".claim:not([hidden])") === null;
  for (const item of document.querySelectorAll(".overview li"))
    item.hidden = document.getElementById(item.dataset.experiment).hidden;
  for (const chapter of document.querySelectorAll(".chapter"))
    chapter.hidden = chapter.querySelector(".experiment:not([hidden])") === null;
  const left = claims.filter((claim) => !claim.hidden).length;
  form.querySelector("output").textContent = active ? `${left} of ${claims.length} claims` : `${claims.length} claims`;
  form.querySelector("button").hidden = !active;
  return choice;
}

function tell() {
  const { verdict, source, words } = show(), address = new URLSearchParams();
  if (verdict.length) address.set("verdict", verdict.join(","));
  if (source) address.set("source", source);
  if (words) address.set("words", words);
  told = address.toString() || "show=all";
  location.replace(`#${told}`);
}

function listen() {
  const hash = location.hash.slice(1);
  if (hash === told) return;  // our own words: what is being typed stays as it is
  if (!hash.includes("=")) return reveal(hash);
  const address = new URLSearchParams(hash), verdicts = (address.get("verdict") ?? "").split(",");
  for (const box of form.querySelectorAll("[name=verdict]")) box.checked = verdicts.includes(box.value);
  form.elements.source.value = address.get("source") ?? "";
  form.elements.words.value = address.get("words") ?? "";
  show();
  form.scrollIntoView();
}

// A link to something that is filtered away shows everything again.
function reveal(id) {
  const target = id && document.getElementById(id);
  if (target && target.closest("[hidden]")) {
    form.reset();
    show();
    told = null;
    target.scrollIntoView();
  }
}

if (form) {
  form.hidden = false;
  form.addEventListener("input", tell);
  form.querySelector("button").addEventListener("click", () => { form.reset(); tell(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", listen);
  show();
  listen();
}
