// The stations in the order of the decks, and what they all share.

import { element } from "./dom.js";
import { attentionSites, hasAttention, siteOf, sitesOf } from "./places.js";
import { crossAttention, heads, mask, maskedAttention, memory, projections, scaling, scores, softmax, weightedSum } from "./stations_attention.js";
import { addNorm, decoderFeedForward, feedForward } from "./stations_blocks.js";
import { choosing, evolution, logits, probabilities } from "./stations_output.js";
import { embedding, layers, pieces, positions } from "./stations_words.js";

export const STATIONS = [
  pieces, embedding, positions, projections, scores, scaling, mask, softmax, weightedSum, heads, addNorm, feedForward, layers,
  memory, maskedAttention, crossAttention, decoderFeedForward, logits, probabilities, choosing, evolution,
];

// The sites that a station can show.
export function allowedSites(station, trace) {
  const own = sitesOf(trace).filter((site) => site.id !== "cross");
  if (station.sides === "all") return attentionSites(trace);
  if (station.sides === "own") return own;
  if (station.sides === "causal") return own.filter((site) => site.side.causal);
  if (station.sides === "cross") return attentionSites(trace).filter((site) => site.id === "cross");
  return own.slice(-1);
}

export function contextOf(base) {
  const { cursor, trace } = base, station = STATIONS[cursor.station - 1];
  const allowed = allowedSites(station, trace).map((site) => site.id);
  const site = siteOf(trace, cursor, allowed.length ? allowed : undefined);
  const attentionSite = hasAttention(trace, site) ? site : attentionSites(trace).at(-1); // the attention whose heads are shown
  const { depth, heads } = attentionSite.side.stack, layer = Math.min(cursor.layer, depth - 1), head = Math.min(cursor.head, heads - 1);
  return { ...base, station, site, attentionSite, allowed, cursor: { ...cursor, layer, head } };
}

// The whole station: purpose, formula, the formula with this cell's numbers, matrices, shapes and source.
export function stationView(context) {
  const { station, cursor, trace, t, go, site, allowed } = context, number = cursor.station;
  const found = station.show(context);
  const choices = element("div", { class: "places" });
  if (allowed.length > 1) choices.append(group(t(allowed.includes("cross") ? "which attention" : "which side"), allowed.map((id) => [t(`side ${id}`), id === site.id, () => go({ side: id })])));
  const indexed = !["pieces", "embedding", "positions", "layers", "logits", "probabilities", "choosing"].includes(station.key);
  if (indexed) choices.append(group(t("which layer"), numbered(site.side.stack.depth, cursor.layer, (layer) => go({ layer }))));
  if (indexed && !["add_norm", "feed_forward", "decoder_feed_forward", "heads"].includes(station.key)) {
    choices.append(group(t("which head"), numbered(site.side.stack.heads, cursor.head, (head) => go({ head }))));
  }
  return [
    element("header", {}, element("p", { class: "count" }, t("station of", number, STATIONS.length)), element("h2", { id: "station-title", tabindex: "-1" }, t(`station ${station.key}`)), element("p", { class: "purpose" }, t(`purpose ${station.key}`))),
    choices.childElementCount ? choices : null,
    element("div", { class: "body" }, element("div", { class: "formulas" },
      element("section", { "aria-label": t("formula") }, element("h3", {}, t("formula")), found.formula),
      found.numbers.filter(Boolean).length ? element("section", { class: "with-numbers", "aria-label": t("with numbers") }, element("h3", {}, t("with numbers")), ...found.numbers.filter(Boolean), found.left ? element("p", { class: "hint" }, t("rest of terms", found.left)) : null, found.note ? element("p", { class: "hint" }, found.note) : null) : null),
    element("div", { class: "panels" }, ...found.panels.filter(Boolean))),
    element("footer", {},
      found.shapes.length ? element("p", { class: "shapes" }, element("b", {}, t("shapes")), ...found.shapes.map(([name, shape]) => element("span", {}, `${name}: ${shape}`))) : null,
      found.origins?.length ? element("p", { class: "origins" }, element("b", {}, t("comes from")), ...found.origins.map(([name, goal]) => element("button", { type: "button", onclick: () => go(goal) }, `← ${name}`))) : null),
  ].filter(Boolean);
}

function numbered(count, chosen, pick) {
  return Array.from({ length: count }, (_, i) => [String(i + 1), i === chosen, () => pick(i)]);
}

function group(label, entries) {
  return element("div", { class: "choice", role: "group", "aria-label": label }, element("span", {}, label),
    ...entries.map(([text, pressed, act]) => element("button", { type: "button", "aria-pressed": pressed, onclick: act }, text)));
}
