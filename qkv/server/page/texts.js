// The texts of the interface, from one table. A test checks that every text exists in every language.

import { byId } from "./dom.js";
import { recall } from "./store.js";

const LANGUAGES = ["en", "es", "ko"];
let table = {}, language = "en";

export function preferred() {
  const kept = recall("language", "");
  if (LANGUAGES.includes(kept)) return kept;
  return navigator.languages.map((each) => each.slice(0, 2)).find((each) => LANGUAGES.includes(each)) ?? "en";
}

export async function loadTexts() {
  table = await (await fetch("page/texts.json")).json();
}

export function speak(chosen) {
  language = chosen;
  document.documentElement.lang = language;
  byId("language").value = language;
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of document.querySelectorAll("[data-t-label]")) node.setAttribute("aria-label", t(node.dataset.tLabel));
  for (const node of document.querySelectorAll("[data-t-title]")) node.title = t(node.dataset.tTitle);
  for (const node of document.querySelectorAll("[data-t-placeholder]")) node.placeholder = t(node.dataset.tPlaceholder);
}

export function t(key, ...values) {
  const text = table[key]?.[language] ?? key;
  return text.replace(/\{(\d)\}/g, (_, place) => values[place] ?? "");
}

export function percent(share) {
  if (share > 0 && share < 0.005) return `< ${percent(0.01)}`;
  return new Intl.NumberFormat(language, { style: "percent" }).format(share);
}

// The name of a language in the language of the interface.
export function languageName(code, fallback = code) {
  try {
    return new Intl.DisplayNames([language], { type: "language", fallback: "none" }).of(code) ?? fallback;
  } catch {
    return fallback; // not a language tag
  }
}

// With a capital letter, for lists. Spanish writes names of languages in small letters.
export function titled(name) {
  return name.slice(0, 1).toLocaleUpperCase(language) + name.slice(1);
}
