// On the left: both stacks with the current position highlighted, the heads, and their ground truth.

import { byId, centre, element, isolated } from "./dom.js";
import { headOf, attentionSites, lstmsOf } from "./places.js";
import { paint } from "./scale.js";

const ATTENTION = [4, 5, 6, 7, 8, 9, 15, 16];

// The part of the map that a station belongs to.
function partOfStation(number, site) {
  if (number <= 1) return "pieces";
  if (number <= 3) return "input";
  if (number === 11) return "norm";
  if (number === 12 || number === 17) return "feed_forward";
  if (number === 13) return "layers";
  if (number === 14) return "memory";
  if (number >= 18 && number <= 20) return "output";
  return site.sublayer;
}

export function drawMap({ trace, cursor, site, t, go }) {
  const here = partOfStation(cursor.station, site), columns = trace.sides.map((side, i) => stackOf(side, i));
  byId("map").replaceChildren(element("div", { class: `stacks of-${columns.length}` }, ...columns));

  function stackOf(side, index) {
    const own = side === site.side || (here === "memory" && index === 0), last = index === trace.sides.length - 1;
    const causal = side.causal, cross = trace.has(`${side.name}.0.cross_attention.weights`);
    const layers = [], lstms = lstmsOf(trace, side);
    for (let layer = (lstms || side.stack.depth) - 1; layer >= 0; layer--) {
      const lit = own && layer === cursor.layer && !["pieces", "input", "output", "layers", "memory"].includes(here);
      const sublayers = lstms ? [
        cross && layer === 0 ? ["cross_attention", t("short cross"), () => go({ station: 16, side: "cross", layer })] : null,
        ["lstm", "LSTM", () => go({ station: 13, side: side.name, row: layer })],
      ].filter(Boolean) : [
        ["feed_forward", t("short ffn"), () => go({ station: causal && cross ? 17 : 12, side: side.name, layer, part: "" })],
        cross ? ["cross_attention", t("short cross"), () => go({ station: 16, side: "cross", layer })] : null,
        trace.has(`${side.name}.${layer}.cell.result`)
          ? ["lstm", "SSRU", () => go({ station: 13, side: side.name, row: layer + 1 })]
          : ["attention", t(causal ? "short masked" : "short attention"), () => go({ station: causal && cross ? 15 : 8, side: side.name, layer })],
      ].filter(Boolean);
      layers.push(element("li", { class: lit ? "lit" : "" }, element("span", { class: "layer" }, String(layer + 1)),
        ...sublayers.map(([key, name, act]) => element("button", { type: "button", class: `part ${key}`, "aria-label": `${t(`side ${side.name}`)}, ${t("layer", layer + 1)}: ${name}`, "aria-current": lit && (here === key || (here === "norm" && key === site.sublayer)) ? "location" : undefined, onclick: act }, name))));
    }
    const top = last && trace.choices.length
      ? element("button", { type: "button", class: "end", "aria-current": here === "output" ? "location" : undefined, onclick: () => go({ station: 19, column: 0 }) }, t("short output"))
      : trace.sides.length > 1 && !last ? element("button", { type: "button", class: "end memory", "aria-current": here === "memory" ? "location" : undefined, onclick: () => go({ station: 14, side: "cross" }) }, t("short memory")) : null;
    const placed = trace.has(`${side.name}.positions`);
    return element("section", { class: own ? "own" : "" }, element("h3", {}, t(`side ${side.name}`)), top,
      element("ol", { class: here === "layers" && own ? "lit" : "" }, ...layers),
      element("button", { type: "button", class: "end", "aria-current": own && here === "input" ? "location" : undefined, onclick: () => go({ station: placed ? 3 : 2, side: side.name }) }, t(placed ? "short input" : "short embedding")),
      element("button", { type: "button", class: "end words", "aria-current": own && here === "pieces" ? "location" : undefined, onclick: () => go({ station: 1, side: side.name }) }, t("short pieces")));
  }
}

export function drawHeads({ trace, cursor, attentionSite: site, t, go }) {
  const stack = site.side.stack, rows = [];
  for (let layer = stack.depth - 1; layer >= 0; layer--) {
    const array = trace.quick(`${site.side.name}.${layer}.${site.sublayer}.weights`);
    if (!array) continue;
    rows.push(element("div", { class: "heads-row" }, element("span", {}, String(layer + 1)), ...Array.from({ length: stack.heads }, (_, head) => {
      const one = headOf(array, head), canvas = element("canvas", { "aria-hidden": "true" });
      paint(canvas, one.values, ...one.shape, [0, 1]);
      const lit = layer === cursor.layer && head === cursor.head;
      return element("button", {
        type: "button", "aria-pressed": lit, "aria-label": `${t(`side ${site.id}`)}, ${t("layer", layer + 1)}, ${t("head", head + 1)}`,
        onclick: () => go({ layer, head, ...(ATTENTION.includes(cursor.station) ? {} : { station: site.id === "cross" ? 16 : 8 }), side: site.id }),
      }, canvas);
    })));
  }
  const tabs = element("div", { class: "choice", role: "group", "aria-label": t("which attention") }, ...attentionSites(trace).map((each) => element("button", {
    type: "button", "aria-pressed": each.id === site.id, onclick: () => go({ side: each.id, station: each.id === "cross" ? 16 : each.side.causal && trace.sides.length > 1 ? 15 : 8 }),
  }, t(`side ${each.id}`))));
  byId("heads").replaceChildren(tabs, ...rows);
}

export function drawTruth(found, { t, go }) {
  const alignment = [...found.alignment].sort((a, b) => a.error - b.error), reference = [...found.reference].sort((a, b) => b.right - a.right);
  const table = (caption, rows) => element("table", { class: "plain" }, element("caption", {}, caption), element("tbody", {}, ...rows));
  const row = (name, value, part, goal) => element("tr", {}, element("th", { scope: "row" }, element("button", { type: "button", onclick: () => go(goal) }, name)), element("td", {}, `${value.toFixed(1)} %`), element("td", {}, element("i", { class: "inline-bar", style: { "--part": String(part) } })));
  byId("truth-panel").replaceChildren(
    element("p", { class: "hint" }, t("truth hint", found.sentences, found.pronouns)),
    reference.length ? table(t("truth reference", found.chance), reference.slice(0, 8).map((each) => row(`${t(`side ${each.side}`)} ${each.layer + 1}.${each.head + 1}`, each.right, each.right / 100, { station: each.side === "decoder" ? 15 : 8, side: each.side, layer: each.layer, head: each.head }))) : "",
    table(t("truth alignment", found.aligner), alignment.slice(0, 8).map((each) => row(`${t("side cross")} ${each.layer + 1}.${each.head + 1}`, each.error, each.error / 100, { station: 16, side: "cross", layer: each.layer, head: each.head }))));
}

// At the bottom: the output so far, and the candidates for the next token; a click on one forces it.
export function drawBars({ trace, cursor, t, go, source }) {
  const step = Math.min(cursor.step, trace.choices.length - 1), choice = trace.choices[step];
  if (!choice) {
    byId("tokens").replaceChildren();
    byId("bars").replaceChildren();
    return;
  }
  byId("tokens").replaceChildren(element("b", {}, t("next word")), ...trace.choices.map((each, i) => element("button", {
    type: "button", class: i < step ? "past" : i === step ? "now" : "later", "aria-current": i === step ? "step" : undefined, onclick: () => go({ step: i }),
  }, isolated(each.candidates.find((one) => one.id === each.chosen)?.text ?? ""))));
  centre(byId("tokens"));
  byId("bars").replaceChildren(...choice.candidates.slice(0, 8).map((each) => {
    const p = Math.exp(each.log_probability), taken = each.id === choice.chosen;
    const forced = [...trace.choices.slice(0, step).map((earlier) => earlier.chosen), each.id];
    return element("li", {}, element("button", {
      type: "button", class: taken ? "taken" : "", "aria-pressed": taken, disabled: source.isSaved || !["translator", "recurrent", "gpt"].includes(trace.kind),
      title: t("force"), "aria-label": `${each.text.trim() || "␣"}: ${(100 * p).toFixed(1)} %`, onclick: () => go({ force: forced, step }),
    }, element("i", { style: { "--part": String(p) } }), isolated(each.text), element("small", {}, p < 0.0005 ? "<0.1 %" : `${(100 * p).toFixed(1)} %`)));
  }));
}
