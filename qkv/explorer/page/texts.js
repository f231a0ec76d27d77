// The texts of the page in three languages. A test checks that none is missing.

import { byId } from "./dom.js";

const LANGUAGES = ["en", "es", "ko"];
let words = {};

export function preferred() {
  const kept = remembered("language");
  if (LANGUAGES.includes(kept)) return kept;
  return navigator.languages.map((each) => each.slice(0, 2)).find((each) => LANGUAGES.includes(each)) ?? "en";
}

export async function speak(language, saved) {
  words = saved ? saved[language] : await (await fetch(`/page/${language}.json`)).json();
  document.documentElement.lang = language;
  byId("language").value = language;
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of document.querySelectorAll("[data-t-label]")) node.setAttribute("aria-label", t(node.dataset.tLabel));
}

export function t(key, ...values) {
  const text = words[key] ?? key;
  return text.replace(/\{(\d)\}/g, (_, place) => values[place] ?? "");
}

// Values that the browser stores for this page. For a file opened from disk it may refuse.
export function remembered(name) {
  try {
    return localStorage.getItem(`qkv ${name}`);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`qkv ${name}`, value);
  } catch {
    // not stored
  }
}
