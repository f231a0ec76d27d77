// The page's words in three languages. What is missing in one would be a fault: a test compares them.

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

// What a browser keeps for this page; in a file from disk it may refuse.
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
    // then it is forgotten
  }
}
