// The page: one cursor, one trace, and everything drawn from the two.

import { Source, Trace } from "./api.js";
import { START, isExperiment, readCursor, queryOf, writeCursor } from "./cursor.js";
import { byId, centre, element } from "./dom.js";
import { drawComparison, drawExperiments } from "./experiments.js";
import { drawBars, drawHeads, drawMap, drawTruth } from "./map.js";
import { STATIONS, contextOf, stationView } from "./stations.js";
import { preferred, remember, remembered, speak, t } from "./texts.js";

const inlined = byId("saved");
const saved = inlined ? JSON.parse(inlined.textContent) : null;
const source = new Source(saved, () => status(t("server busy")));
let cursor = { ...START }, info = null, trace = null, original = null, problem = null;
let follow = false; // a link names an output token but no row
let latest = 0, controller = new AbortController(), drawing = 0, drawn = new AbortController(), playing = null, typing = null, slow = null, retrying = null;

const SLOW = 400; // milliseconds until the page shows that it is computing
const RETRY = 2000; // milliseconds until a server that did not respond gets the next request
const OUTPUT_STATIONS = [15, 16]; // stations whose row is an output token
const queryKey = (each) => JSON.stringify(queryOf(each));
const base = () => ({ cursor, trace, original, info, source, t, go, signal: drawn.signal });
const isThere = (number) => trace !== null && STATIONS[number - 1].isThere(trace, info) && !(source.isSaved && number === 21);

// The position is part of the URL. Inside a notebook the page has no URL of its own.
function keepAddress() {
  try {
    history.replaceState(null, "", writeCursor(cursor));
  } catch {
    // not stored
  }
}

function go(patch, keepFocus = false) {
  const before = queryKey(cursor);
  cursor = { ...cursor, ...patch };
  if ("step" in patch && !("row" in patch) && OUTPUT_STATIONS.includes(cursor.station)) cursor.row = trace?.choices[patch.step]?.row ?? patch.step;
  keepAddress();
  if (queryKey(cursor) !== before) refresh();
  else draw(keepFocus);
}

async function refresh() {
  const ticket = ++latest;
  clearTimeout(retrying);
  controller.abort();
  controller = new AbortController();
  pending(true);
  try {
    const query = queryOf(cursor), { signal } = controller;
    const summary = await source.trace(query, signal);
    const plain = isExperiment(cursor) && !source.isSaved ? await source.trace({ ...query, experiment: {} }, signal) : null;
    if (ticket !== latest) return;
    trace = new Trace(source, query, summary);
    if (follow && OUTPUT_STATIONS.includes(cursor.station)) cursor.row = trace.choices[cursor.step]?.row ?? cursor.row;
    follow = false;
    original = plain;
    problem = null;
  } catch (error) {
    if (ticket !== latest || error.name === "AbortError") return;
    failed(error);
  }
  await draw(false);
  if (ticket === latest) pending(false);
}

// A server that cannot be reached may be starting: the page retries until it responds.
function failed(error) {
  const unreachable = error.message === "unreachable";
  [trace, original, problem] = [null, null, unreachable ? t("unreachable") : error.message];
  if (unreachable) retrying = setTimeout(refresh, RETRY);
}

function status(text) {
  clearTimeout(slow);
  byId("loading").textContent = text;
}

// While something is computed, no old output is shown.
function pending(busy) {
  if (busy && trace === null) status(t("loading"));
  else status("");
  if (busy && trace !== null) slow = setTimeout(() => status(t("computing")), SLOW);
  document.body.classList.toggle("busy", busy);
  byId("station").setAttribute("aria-busy", String(busy));
  if (busy) {
    byId("output").textContent = "…";
    byId("compare").hidden = true;
    byId("check").textContent = "";
  }
}

async function draw(keepFocus) {
  const of = latest; // outdated if another text was typed meanwhile
  byId("problem").hidden = problem === null;
  byId("problem").textContent = problem ?? "";
  document.body.classList.toggle("empty", trace === null);
  if (trace === null) {
    byId("output").textContent = "";
    byId("compare").hidden = true;
    for (const name of ["station", "map", "heads", "bars", "tokens", "check", "stations"]) byId(name).replaceChildren();
    return;
  }
  if (!isThere(cursor.station)) cursor.station = nearest(cursor.station);
  cursor.step = Math.min(cursor.step, Math.max(0, trace.choices.length - 1));
  const ticket = ++drawing;
  drawn.abort();
  drawn = new AbortController();
  const context = contextOf(base());
  try {
    await trace.load(context.station.names(context), drawn.signal);
  } catch (error) {
    if (error.name === "AbortError" || ticket !== drawing) return;
    failed(error);
    return draw(false);
  }
  if (ticket !== drawing || of !== latest) return;
  if (!document.body.classList.contains("busy")) status(""); // only arrays were loading
  drawTop(context);
  drawMap(context);
  drawHeads(context);
  drawBars(context);
  drawNavigation();
  replaceStation(stationView(context), keepFocus);
}

// Keeps the focus on the selected cell of the same grid, and the scroll positions.
function replaceStation(parts, keepFocus) {
  const station = byId("station"), grids = [...station.querySelectorAll("table.grid")];
  const grid = keepFocus ? grids.indexOf(document.activeElement?.closest("table.grid")) : -1;
  const places = [...station.querySelectorAll(".scroll")].map((each) => each.scrollLeft), open = [...station.querySelectorAll("details")].map((each) => each.open);
  station.replaceChildren(...parts);
  station.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = places[i] ?? 0; });
  station.querySelectorAll("details").forEach((each, i) => { each.open = open[i] ?? false; });
  if (grid >= 0) station.querySelectorAll("table.grid")[grid]?.querySelector('td[tabindex="0"]')?.focus({ preventScroll: false });
}

function drawTop(context) {
  byId("output").textContent = trace.output;
  byId("output").lang = info.languages?.target ?? "";
  drawComparison(context);
  if (!source.isSaved) drawExperiments(context);
  const step = byId("step");
  [step.max, step.value] = [Math.max(0, trace.choices.length - 1), cursor.step];
  step.setAttribute("aria-valuetext", `${cursor.step + 1} / ${trace.choices.length}`);
  const steps = [...info.checkpoints, 0], slider = byId("checkpoint");
  slider.max = steps.length - 1;
  slider.value = Math.max(0, steps.indexOf(cursor.checkpoint));
  byId("checkpoint-name").textContent = cursor.checkpoint ? t("step", cursor.checkpoint) : t("final weights");
  byId("play").textContent = playing ? `❚❚ ${t("pause")}` : `▶ ${t("play")}`;
  const { check } = trace;
  byId("check").textContent = t("check", check.arrays, check.numbers.toLocaleString(document.documentElement.lang), check.largest.toExponential(1).replace("-", "−"), check.where);
}

function drawNavigation() {
  byId("stations").replaceChildren(...STATIONS.map((station, i) => element("li", {}, element("button", {
    type: "button", "aria-current": i + 1 === cursor.station ? "step" : undefined, disabled: !isThere(i + 1), title: t(`station ${station.key}`),
    "aria-label": `${i + 1} ${t(`station ${station.key}`)}`, onclick: () => visit(i + 1),
  }, String(i + 1)))));
  centre(byId("stations"));
}

// Moves to the next station that this model has.
function visit(number) {
  go({ station: number, part: "", row: OUTPUT_STATIONS.includes(number) ? trace.choices[cursor.step]?.row ?? cursor.row : cursor.row, column: number >= 17 ? 0 : cursor.column });
  window.scrollTo({ top: Math.min(window.scrollY, byId("work").offsetTop - 8) });
  byId("station-title")?.focus({ preventScroll: true });
}

function walk(by) {
  for (let number = cursor.station + by; number >= 1 && number <= STATIONS.length; number += by) {
    if (isThere(number)) return visit(number);
  }
}

const nearest = (number) => {
  const there = STATIONS.map((_, i) => i + 1).filter(isThere);
  return there.reduce((best, each) => (Math.abs(each - number) < Math.abs(best - number) ? each : best), there[0] ?? 1);
};

let digits = "", digitsUntil = 0;

function keyed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea")) return;
  const by = { PageDown: 1, PageUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by) {
    event.preventDefault();
    walk(by);
  } else if (/^\d$/.test(event.key)) {
    digits = Date.now() < digitsUntil ? digits + event.key : event.key;
    digitsUntil = Date.now() + 900;
    const number = Number(digits);
    if (number >= 1 && number <= STATIONS.length && isThere(number)) visit(number);
  }
}

function play() {
  if (playing) stop();
  else {
    if (cursor.step >= trace.choices.length - 1) go({ step: 0 });
    playing = setInterval(() => {
      if (!trace || cursor.step >= trace.choices.length - 1) stop();
      else go({ step: cursor.step + 1 });
    }, 900);
    draw(false);
  }
}

function stop() {
  clearInterval(playing);
  playing = null;
  draw(false);
}

function typed() {
  clearTimeout(typing);
  clearTimeout(retrying);
  latest++; // responses that are still pending are outdated
  pending(true);
  typing = setTimeout(() => {
    cursor = { ...cursor, text: byId("text").value, force: [], step: 0 };
    keepAddress();
    refresh();
  }, 120);
}

function wear(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
}

// Moves to the position in the URL.
function arrive(text) {
  const given = readCursor(location.hash);
  cursor = { ...START, text, ...given, model: info.model };
  follow = "step" in given && !("row" in given);
  byId("text").value = cursor.text;
}

function listen() {
  document.addEventListener("keydown", keyed);
  window.addEventListener("hashchange", () => {
    arrive(cursor.text);
    refresh();
  });
  byId("text").addEventListener("input", typed);
  byId("examples").addEventListener("change", (event) => {
    byId("text").value = event.target.value;
    event.target.selectedIndex = 0;
    typed();
  });
  byId("play").addEventListener("click", play);
  byId("step").addEventListener("input", (event) => go({ step: Number(event.target.value) }));
  byId("checkpoint").addEventListener("input", (event) => go({ checkpoint: [...info.checkpoints, 0][Number(event.target.value)] ?? 0, step: 0 }));
  byId("language").addEventListener("change", async (event) => {
    remember("language", event.target.value);
    await speak(event.target.value, saved?.texts);
    if (info) drawModel();
    draw(false);
  });
  byId("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    wear(dark === "dark" ? "light" : "dark");
    remember("theme", document.documentElement.dataset.theme);
  });
  byId("truth").addEventListener("toggle", async (event) => {
    if (!event.target.open || byId("truth-panel").childElementCount) return;
    byId("truth-panel").textContent = t("computing");
    try {
      drawTruth(await source.truth(), base());
    } catch (error) {
      byId("truth-panel").textContent = error.message;
    }
  });
}

function drawModel() {
  const languages = info.languages ? `${info.languages.source} → ${info.languages.target}` : t(`kind ${info.kind}`);
  const millions = info.parameters >= 1e6 ? `${(info.parameters / 1e6).toFixed(1)} M` : info.parameters.toLocaleString();
  const made = info.architecture === "recurrent" ? ` · ${t("kind recurrent")}` : "";
  byId("model").replaceChildren(element("b", {}, info.model), ` ${languages}${made} · ${t("parameters", millions)}`);
  byId("examples").replaceChildren(element("option", { value: "" }, t("examples")), ...info.examples.map((each) => element("option", { value: each }, each)));
  byId("truth").hidden = !info.truth || source.isSaved;
  byId("checkpoint-control").hidden = !info.checkpoints.length || source.isSaved;
  byId("experiments").hidden = byId("examples").hidden = source.isSaved;
  byId("text").readOnly = source.isSaved;
}

async function untilItWorks(request, refused = () => {}) {
  for (;;) {
    try {
      return await request();
    } catch {
      refused();
      await new Promise((resolve) => setTimeout(resolve, RETRY));
    }
  }
}

async function begin() {
  const theme = remembered("theme");
  if (theme === "light" || theme === "dark") wear(theme);
  await untilItWorks(() => speak(preferred(), saved?.texts));
  status(t("loading"));
  info = await untilItWorks(() => source.info(), () => status(t("unreachable")));
  listen();
  drawModel();
  arrive(saved ? saved.trace.text : info.examples[0]);
  keepAddress();
  await refresh();
}

begin();
