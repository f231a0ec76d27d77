// The page: what is set, what is typed, and the newest translation of it.

import { Alternatives } from "./alternatives.js";
import { Problem, Server } from "./api.js";
import { byId, element } from "./dom.js";
import { Files } from "./files.js";
import { Glossary } from "./glossary.js";
import { History } from "./history.js";
import { drawHelp, listen } from "./keyboard.js";
import { Languages } from "./languages.js";
import { Output } from "./output.js";
import { keep, recall } from "./store.js";
import { loadTexts, preferred, speak, t, titled } from "./texts.js";
import { surround } from "./words.js";

const TYPING = 150; // milliseconds without a key before a request is sent
const SLOW = 500; // milliseconds until the old translation is dimmed
const ANNOUNCE = 1000; // milliseconds without a change before a screen reader hears the translation
const WIDE = "(min-width: 60rem)"; // all panels are open

const server = new Server({ busy: () => t("busy"), unreachable: () => t("unreachable") });
const languages = new Languages();
const output = new Output((place, node) => alternatives.open(place, node, output.segments[place.segment], languages.to));
const alternatives = new Alternatives((fields, signal) => server.post("alternatives", { ...fields, source: languages.source, target: languages.to, glossary: terms() }, signal), take);
const glossary = new Glossary(() => typed(TYPING));
const history = new History(reopen);
const files = new Files(() => ({ server, from: languages.from, to: languages.to, glossary: terms() }));

let limits = {}, page = {};
let latest = 0, controller = new AbortController(), timer = 0, dimming = 0, announcing = 0;

function setLanguages(from, to) {
  languages.choose(from, to);
  glossary.show(languages.source, languages.to);
  typed(0);
}

function swap() {
  if (!languages.canSwap) return;
  if (output.text.trim()) byId("source").value = output.text;
  setLanguages(languages.to, languages.source);
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
  if (!byId("source").value.trim() || isLong || !languages.to) return empty(isLong ? t("too long", most) : "");
  pending(true);
  timer = setTimeout(translate, wait);
}

function empty(problem) {
  pending(false);
  languages.detected = null;
  show([]);
  tell(problem);
}

// The glossary for the current languages.
function terms() {
  return glossary.termsOf(languages.source, languages.to);
}

async function translate() {
  const ticket = ++latest, q = byId("source").value, sent = terms(), { from, to } = languages;
  controller.abort();
  controller = new AbortController();
  clearTimeout(timer);
  try {
    const found = await server.post("translate", { q, source: from, target: to, segments: true, glossary: sent }, controller.signal);
    if (ticket !== latest) return; // an answer to an older text
    languages.detected = from === "auto" ? found.detectedLanguage : null;
    if (JSON.stringify(terms()) !== JSON.stringify(sent)) return translate(); // the glossary of another language was sent
    show(found.segments);
    tell("");
    announce();
    if (languages.source !== to) history.add({ from: languages.source, to, source: q, target: output.text });
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
  output.show(segments, languages.to, Object.values(terms()));
  languages.draw();
  if (glossary.from !== languages.source || glossary.to !== languages.to) glossary.show(languages.source, languages.to);
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
    byId("announcement").lang = languages.to;
    byId("announcement").textContent = output.text;
  }, ANNOUNCE);
}

// The text is in the target language already: offer the others.
function drawSame() {
  const { to, detected } = languages, isSame = detected?.language === to && output.text !== "";
  const others = isSame ? languages.targetsOf(to) : [];
  byId("same").hidden = !isSame;
  byId("same").replaceChildren(t("already", languages.nameOf(to)), ...others.map((code) => element("button", { type: "button", onclick: () => setLanguages(to, code) }, `→ ${titled(languages.nameOf(code))}`)));
}

// The explorer shows one model: the link is there for its languages.
function drawExplore(number) {
  const pair = [languages.source, languages.to], sentence = output.segments[number]?.source.trim() ?? "";
  const isThere = sentence !== "" && page.explored?.some((each) => each.join(" ") === pair.join(" "));
  byId("explore").hidden = !isThere;
  if (isThere) byId("explore").href = `${page.explorer.replace(/#.*$/, "")}#${new URLSearchParams({ text: sentence })}`;
}

function take(place, alternative) {
  const segments = output.segments.map((segment, i) => (i === place.segment ? { ...segment, ...alternative, target: surround(segment.source, alternative.text) } : segment));
  output.show(segments, languages.to, Object.values(terms()));
  drawExplore(place.segment);
  output.focus(place.segment, place.word);
  announce();
  history.add({ from: languages.source, to: languages.to, source: byId("source").value, target: output.text });
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
  byId("from").addEventListener("change", (event) => setLanguages(event.target.value, languages.to));
  byId("to").addEventListener("change", (event) => setLanguages(languages.from, event.target.value));
  byId("swap").addEventListener("click", swap);
  byId("copy").addEventListener("click", copy);
  byId("clear").addEventListener("click", clear);
  byId("output").addEventListener("focusin", (event) => drawExplore(Number(event.target.dataset.segment ?? 0)));
  byId("key-row").addEventListener("submit", (event) => event.preventDefault());
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
    setLanguages(languages.from, languages.to);
  });
  window.addEventListener("hashchange", arrive);
  listen(ACTIONS);
}

// A link can bring a text and languages: #source=en&target=de&text=hello
function arrive() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("text")) byId("source").value = given.get("text");
  setLanguages(given.get("source") ?? languages.from, given.get("target") ?? languages.to);
}

async function untilItWorks(work) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      byId("loading").textContent = error.isBusy ? t("loading") : error.message; // models may take some time
      await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retry || 2)));
    }
  }
}

async function begin() {
  wear(recall("theme", ""));
  await untilItWorks(loadTexts);
  drawTexts();
  byId("loading").textContent = t("loading");
  [languages.served, limits, page] = await untilItWorks(() => Promise.all([server.get("languages"), server.get("frontend/settings"), server.get("page/settings")]));
  byId("loading").textContent = "";
  byId("version").textContent = `qkv ${page.version}`;
  byId("key-row").hidden = !limits.keyRequired;
  server.key = byId("key").value = limits.keyRequired ? recall("key", "") : "";
  byId("files").hidden = !limits.filesTranslation;
  files.configure(limits.supportedFilesFormat, page.max_file);
  if (matchMedia(WIDE).matches) for (const panel of document.querySelectorAll(".panels details")) panel.open = true;
  [languages.from, languages.to] = [recall("from", limits.language.source.code), recall("to", limits.language.target.code)];
  drawTexts();
  connect();
  arrive();
  document.body.classList.remove("starting");
  if (!languages.to) tell(t("no models"));
  byId("source").focus();
}

begin();
