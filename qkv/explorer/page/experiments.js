// Experiments: switches, disabled heads and layers, forced tokens, and both outputs side by side.

import { byId, element, isolated } from "./dom.js";
import { isExperiment } from "./cursor.js";
import { lstmsOf } from "./places.js";

export function drawExperiments({ trace, cursor, site, attentionSite, t, go }) {
  const flag = (name) => element("label", {}, element("input", { type: "checkbox", checked: cursor[name], onchange: (event) => go({ [name]: event.target.checked, step: 0 }) }), t(`try ${name}`));
  const head = `${attentionSite.side.name}.${cursor.layer}.${attentionSite.sublayer}.${cursor.head}`;
  const layers = trace.sides.flatMap((side) => Array.from({ length: lstmsOf(trace, side) }, (_, layer) => [side, layer])); // all LSTMs, or the selected layer
  if (!layers.length) layers.push([site.side, cursor.layer]);
  const toggle = (name, text) => element("button", { type: "button", "aria-pressed": cursor.silenced.includes(name), onclick: () => go({ silenced: cursor.silenced.includes(name) ? cursor.silenced.filter((each) => each !== name) : [...cursor.silenced, name], step: 0 }) }, text);
  const mayMask = trace.sides.some((side) => side.causal), words = cursor.force.map((id, i) => trace.sides.at(-1).tokens[i + 1] ?? String(id));
  byId("experiment-panel").replaceChildren(
    element("p", { class: "hint" }, t("try hint")),
    element("div", { class: "switches" }, flag("no_scaling"), mayMask ? flag("no_mask") : null, trace.config.positions ? flag("no_positions") : null,
      element("button", { type: "button", "aria-pressed": cursor.shuffle > 0, onclick: () => go({ shuffle: cursor.shuffle + 1, step: 0 }) }, t("try shuffle")),
      toggle(head, t("try silence head", t(`side ${attentionSite.id}`), cursor.layer + 1, cursor.head + 1)),
      ...layers.map(([side, layer]) => toggle(`${side.name}.${layer}`, t("try silence layer", t(`side ${side.name}`), layer + 1)))),
    element("div", { class: "active" }, ...cursor.silenced.map((name) => toggle(name, `✕ ${name}`)),
      words.length ? element("button", { type: "button", onclick: () => go({ force: [], step: 0 }) }, `✕ ${t("forced")}: `, isolated(words.join(" "))) : null,
      isExperiment(cursor) ? element("button", { type: "button", class: "primary", onclick: () => go({ no_scaling: false, no_mask: false, no_positions: false, shuffle: 0, silenced: [], force: [], step: 0 }) }, t("try reset")) : null));
}

export function drawComparison({ trace, cursor, original, t }) {
  const node = byId("compare");
  node.hidden = !original;
  if (!original) return;
  const before = original.output.split(/\s+/), after = new Set(before);
  node.replaceChildren(element("span", {}, t("as trained")), " ", element("bdi", { class: "as-trained", dir: "auto" }, original.output), " ",
    element("span", {}, t("with the change")), " ", element("bdi", { class: "with-change", dir: "auto" }, ...trace.output.split(/(\s+)/).map((word) => (word.trim() && !after.has(word) ? element("mark", {}, word) : word))),
    cursor.shuffle ? element("span", { class: "hint" }, ` (${trace.text})`) : "");
}
