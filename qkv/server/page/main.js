// The page: what is set, what is typed, and the newest translation of it.

import { Alternatives } from "./alternatives.js";
import { Problem, Server } from "./api.js";
import { byId, element, write } from "./dom.js";
import { Files } from "./files.js";
import { Glossary } from "./glossary.js";
import { History } from "./history.js";
import { drawHelp, listen } from "./keyboard.js";
import { Output } from "./output.js";
import { keep, recall } from "./store.js";
import { languageName, loadTexts, preferred, speak, t } from "./texts.js";
import { surround } from "./words.js";

const TYPING = 150; // milliseconds without a key before a request is sent
const SLOW = 500; // milliseconds until the old translation is dimmed
const ANNOUNCE = 1000; // milliseconds without a change before a screen reader hears the translation
const SURE = 50; // percent: below this the detected language is a guess
const WIDE = "(min-width: 60rem)"; // all panels are open

const server = new Server({ busy: () => t("busy"), unreachable: () => t("unreachable") });
const output = new Output((place, node) => alternatives.open(place, node, output.segments[place.segment], to));
const alternatives = new Alternatives((fields, signal) => server.post("alternatives", { ...fields, source: sourceLanguage(), target: to }, signal), take);
const glossary = new Glossary(() => typed(TYPING));
const history = new History(reopen);
const files = new Files(() => ({ server, from, to, glossary: glossary.termsOf(sourceLanguage(), to) }));

let languages = [], limits = {}, page = {};
let from = "auto", to = "", detected = null; // detected: {language, confidence}
let latest = 0, controller = new AbortController(), timer = 0, dimming = 0, announcing = 0;

// Languages ------------------------------------------------------------------------------------------------

const known = (code) => languages.find((each) => each.code === code);
const nameOf = (code) => languageName(code, known(code)?.name);
const targetsOf = (code) => (known(code)?.targets ?? []).filter((each) => each !== code);
const sources = () => languages.filter((each) => targetsOf(each.code).length);
const targets = () => (from === "auto" ? languages.filter((each) => sources().some((source) => targetsOf(source.code).includes(each.code))).map((each) => each.code) : targetsOf(from));

// The source language, also if it was detected. Before there is a text, the first one that fits the target.
function sourceLanguage() {
  if (from !== "auto") return from;
  return detected?.language ?? sources().find((each) => targetsOf(each.code).includes(to))?.code ?? "";
}

function drawLanguages() {
  if (from !== "auto" && !sources().some((each) => each.code === from)) from = "auto";
  if (!targets().includes(to)) to = targets()[0] ?? "";
  const option = (code) => element("option", { value: code }, nameOf(code));
  byId("from").replaceChildren(element("option", { value: "auto" }, detectedText()), ...sources().map((each) => option(each.code)));
  byId("to").replaceChildren(...targets().map(option));
  [byId("from").value, byId("to").value] = [from, to];
  byId("swap").disabled = !targetsOf(to).includes(sourceLanguage());
  write(byId("source"), from);
  write(byId("mirror"), from);
  write(byId("output"), to);
}

function detectedText() {
  if (!detected) return t("detect language");
  return t(detected.confidence < SURE ? "maybe" : "detected", nameOf(detected.language));
}

function setLanguages(newFrom, newTo) {
  [from, to, detected] = [newFrom, newTo, newFrom === "auto" ? detected : null];
  drawLanguages();
  keep("from", from);
  keep("to", to);
  glossary.show(sourceLanguage(), to);
  typed(0);
}

function swap() {
  if (byId("swap").disabled) return;
  if (output.text.trim()) byId("source").value = output.text;
  setLanguages(to, sourceLanguage());
}

// Translating ----------------------------------------------------------------------------------------------

function typed(wait = TYPING) {
  latest++;
  controller.abort(); // the server stops working on it
  clearTimeout(timer);
  alternatives.close();
  output.reflect();
  output.light(null);
  const size = [...byId("source").value].length, most = limits.charLimit ?? -1, isLong = most >= 0 && size > most;
  byId("size").textContent = most >= 0 ? `${size.toLocaleString(document.documentElement.lang)} / ${most.toLocaleString(document.documentElement.lang)}` : "";
  byId("size").classList.toggle("wrong", isLong);
  byId("clear").disabled = size === 0;
  if (!byId("source").value.trim() || isLong) return empty(isLong ? t("too long", most) : "");
  pending(true);
  timer = setTimeout(translate, wait);
}

function empty(problem) {
  pending(false);
  detected = null;
  show([]);
  tell(problem);
}

async function translate() {
  const ticket = ++latest, q = byId("source").value, terms = glossary.termsOf(sourceLanguage(), to);
  controller.abort();
  controller = new AbortController();
  clearTimeout(timer);
  try {
    const found = await server.post("translate", { q, source: from, target: to, segments: true, glossary: terms }, controller.signal);
    if (ticket !== latest) return; // an answer to an older text
    detected = from === "auto" ? found.detectedLanguage : null;
    const own = glossary.termsOf(sourceLanguage(), to);
    if (JSON.stringify(own) !== JSON.stringify(terms)) return translate(); // the glossary of another language was sent
    show(found.segments);
    tell("");
    announce();
    history.add({ from: sourceLanguage(), to, source: q, target: output.text });
  } catch (error) {
    if (error.name === "AbortError" || ticket !== latest) return;
    if (!(error instanceof Problem)) throw error;
    if (error.retry) timer = setTimeout(translate, 1000 * error.retry);
    else show([]);
    tell(error.message);
  }
  pending(false);
}

function show(segments) {
  output.show(segments, to);
  drawLanguages();
  if (glossary.from !== sourceLanguage() || glossary.to !== to) glossary.show(sourceLanguage(), to);
  drawSame();
  drawExplore(0);
}

function tell(problem) {
  byId("problem").hidden = !problem;
  byId("problem").textContent = problem;
}

function pending(busy) {
  clearTimeout(dimming);
  byId("output").setAttribute("aria-busy", String(busy));
  if (busy) dimming = setTimeout(() => document.body.classList.add("slow"), SLOW);
  else document.body.classList.remove("slow");
}

function announce() {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    byId("announcement").lang = to;
    byId("announcement").textContent = output.text;
  }, ANNOUNCE);
}

// The text is in the target language already: offer the others.
function drawSame() {
  const isSame = detected?.language === to && output.text !== "";
  byId("same").hidden = !isSame;
  const others = isSame ? targetsOf(to) : [];
  byId("same").replaceChildren(isSame ? t("already", nameOf(to)) : "", ...others.map((code) => element("button", { type: "button", onclick: () => setLanguages(to, code) }, `→ ${nameOf(code)}`)));
}

// The explorer shows one model: the link is there for its languages.
function drawExplore(number) {
  const pair = [sourceLanguage(), to], sentence = output.segments[number]?.source.trim() ?? "";
  const isThere = sentence !== "" && page.explored?.some((each) => each.join(" ") === pair.join(" "));
  byId("explore").hidden = !isThere;
  if (isThere) byId("explore").href = `${page.explorer.replace(/#.*$/, "")}#${new URLSearchParams({ text: sentence })}`;
}

function take(place, alternative) {
  const segments = output.segments.map((segment, i) => (i === place.segment ? { ...segment, ...alternative, target: surround(segment.source, alternative.text) } : segment));
  output.show(segments, to);
  drawExplore(place.segment);
  output.focus(place.segment, place.word);
  announce();
  history.add({ from: sourceLanguage(), to, source: byId("source").value, target: output.text });
}

function reopen(entry) {
  byId("source").value = entry.source;
  setLanguages(entry.from, entry.to);
  byId("source").focus();
}

async function copy() {
  if (output.text === "") return;
  try {
    await navigator.clipboard.writeText(output.text);
  } catch { // only pages with HTTPS or of this machine may write the clipboard directly
    getSelection().selectAllChildren(byId("output"));
    document.execCommand("copy");
    getSelection().removeAllRanges();
  }
  byId("copy").textContent = t("copied");
  byId("announcement").textContent = t("copied");
  setTimeout(() => { byId("copy").textContent = t("copy"); }, 1500);
}

function clear() {
  byId("source").value = "";
  typed(0);
  byId("source").focus();
}

// The interface --------------------------------------------------------------------------------------------

function openPanel(name, focused) {
  byId(name).open = true;
  byId(focused).focus();
}

const ACTIONS = {
  "source text": () => byId("source").focus(),
  translation: () => output.focus(0, 0),
  swap, copy, clear,
  glossary: () => openPanel("glossary", "term-add"),
  history: () => openPanel("history", "history-keep"),
  "choose files": () => openPanel("files", "file-input"),
  shortcuts: () => byId("help").showModal(),
  "translate now": () => byId("source").value.trim() && translate(),
  close: () => byId("alternatives").hidden || alternatives.close(true),
};

function wear(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(isDark()));
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function drawTexts() {
  speak(preferred());
  drawHelp();
  byId("file-hint").textContent = t("file hint", (limits.supportedFilesFormat ?? []).join(" "));
}

function connect() {
  byId("source").addEventListener("input", () => typed());
  byId("from").addEventListener("change", (event) => setLanguages(event.target.value, to));
  byId("to").addEventListener("change", (event) => setLanguages(from, event.target.value));
  byId("swap").addEventListener("click", swap);
  byId("copy").addEventListener("click", copy);
  byId("clear").addEventListener("click", clear);
  byId("output").addEventListener("focusin", (event) => drawExplore(Number(event.target.dataset.segment ?? 0)));
  byId("key").addEventListener("change", (event) => {
    server.key = event.target.value.trim();
    keep("key", server.key);
    typed(0);
  });
  byId("theme").addEventListener("click", () => {
    wear(isDark() ? "light" : "dark");
    keep("theme", document.documentElement.dataset.theme);
  });
  byId("language").addEventListener("change", (event) => {
    keep("language", event.target.value);
    drawTexts();
    history.draw();
    setLanguages(from, to);
  });
  window.addEventListener("hashchange", arrive);
  listen(ACTIONS);
}

// A link can bring a text and languages: #source=en&target=de&text=hello
function arrive() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("text")) byId("source").value = given.get("text");
  setLanguages(given.get("source") ?? from, given.get("target") ?? to);
}

async function untilItWorks(work) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      byId("loading").textContent = error.message;
      await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retry || 2)));
    }
  }
}

async function begin() {
  wear(recall("theme", ""));
  await untilItWorks(loadTexts);
  drawTexts();
  byId("loading").textContent = t("loading");
  [languages, limits, page] = await untilItWorks(() => Promise.all([server.get("languages"), server.get("frontend/settings"), server.get("page/settings")]));
  byId("loading").textContent = "";
  byId("version").textContent = `qkv ${page.version}`;
  byId("key-row").hidden = !limits.keyRequired;
  server.key = byId("key").value = limits.keyRequired ? recall("key", "") : "";
  byId("files").hidden = !limits.filesTranslation;
  files.configure(limits.supportedFilesFormat, page.max_file);
  if (matchMedia(WIDE).matches) for (const panel of document.querySelectorAll(".panels details")) panel.open = true;
  [from, to] = [recall("from", limits.language.source.code), recall("to", limits.language.target.code)];
  drawTexts();
  connect();
  arrive();
  document.body.classList.remove("starting");
  byId("source").focus();
}

begin();
