// Stations 18 to 21: from vectors to tokens, and the same view across checkpoints.

import { unpacked } from "./api.js";
import { element, isolated, number } from "./dom.js";
import { dotted, factor, formula, frac, nameOf, rowOf, sub, sumOver, sup, valueOf, wordOf } from "./formula.js";
import { headOf, prefixOf, rowAt } from "./places.js";
import { paint } from "./scale.js";
import { hasFeedForward } from "./stations_blocks.js";

const choiceAt = (trace, cursor) => trace.choices[Math.min(cursor.step, trace.choices.length - 1)];
const candidateAt = (choice, cursor) => choice.candidates[Math.min(cursor.column, choice.candidates.length - 1)];
const outputRow = (trace, choice) => `${trace.sides.at(-1).name}.output[${choice.row}]`;

function table(label, heads, rows) {
  return element("div", { class: "scroll" }, element("table", { class: "plain", "aria-label": label },
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows)));
}

function candidateRows(choice, chosen, columns, go) {
  return choice.candidates.map((each, i) => element("tr", { class: each === chosen ? "lit" : "" },
    element("th", { scope: "row" }, element("button", { type: "button", "aria-pressed": each === chosen, onclick: () => go({ column: i }) }, isolated(each.text))),
    ...columns(each).map((value) => element("td", {}, value))));
}

// The source of the last vector: the last feed-forward layer or, with LSTMs, the attention.
function lastPlace(trace, { row }, t) {
  const side = trace.sides.at(-1), layer = side.stack.depth - 1;
  if (!hasFeedForward(trace)) return [t("station cross_attention"), { station: 16, row, layer }];
  const [key, station] = side.causal ? ["decoder_feed_forward", 17] : ["feed_forward", 12];
  return [t(`station ${key}`), { station, side: side.name, row, column: 0, layer }];
}

const bar = (part) => element("i", { class: "inline-bar", style: { "--part": String(Math.max(0, Math.min(1, part))) } });

export const logits = {
  key: "logits", sides: "last", isThere: (trace) => trace.choices.length > 0,
  names({ trace, cursor, site }) {
    const choice = choiceAt(trace, cursor);
    const found = [trace.output_weight, trace.output_bias].filter(Boolean).map((name) => `weights/${name}[${candidateAt(choice, cursor).id}]`);
    return [outputRow(trace, choice), ...found];
  },
  show({ trace, cursor, t, go }) {
    const choice = choiceAt(trace, cursor), candidate = candidateAt(choice, cursor);
    const [y, w, b] = this.names({ trace, cursor }).map((name) => trace.get(name)), numbers = [], biased = Boolean(trace.output_bias);
    if (y && w) {
      const { parts } = dotted([...y.values].map((each, i) => [each, w.values[i]]), 3);
      numbers.push(formula(sub("z", wordOf(candidate.text.trim() || "␣")), "=", ...parts, ...(b ? ["+", factor(b.values[0])] : []), "=", valueOf(candidate.logit)));
    }
    const most = Math.max(...choice.candidates.map((each) => each.logit)), least = Math.min(0, ...choice.candidates.map((each) => each.logit));
    return {
      formula: formula("z", "=", "y", sup("E", "T"), ...(biased ? ["+", "b"] : []), ",", "  ", sub("z", "w"), "=", sumOver("j"), sub("y", "j"), sub("E", rowOf("w", ",", "j")), ...(biased ? ["+", sub("b", "w")] : [])), numbers,
      shapes: [["y", String(y?.shape.at(-1) ?? "")], ["z", String(trace.config.vocab_size ?? "")]],
      panels: [table(t("station logits"), [t("word"), "z", ""], candidateRows(choice, candidate, (each) => [number(each.logit), bar((each.logit - least) / (most - least))], go))],
      origins: [lastPlace(trace, choice, t)],
    };
  },
};

export const probabilities = {
  key: "probabilities", sides: "last", isThere: (trace) => trace.choices.length > 0, names: () => [],
  show({ trace, cursor, t, go }) {
    const choice = choiceAt(trace, cursor), candidate = candidateAt(choice, cursor), z = candidate.logit;
    const listed = choice.candidates.reduce((sum, each) => sum + Math.exp(each.log_probability), 0);
    return {
      formula: formula(sub("p", "w"), "=", frac(sup("e", sub("z", "w")), rowOf(sumOver("v"), sup("e", sub("z", "v")))), ",", "  ", "log", sub("p", "w"), "=", sub("z", "w"), "−", "log", sumOver("v"), sup("e", sub("z", "v"))),
      numbers: [formula("log", sub("p", wordOf(candidate.text.trim() || "␣")), "=", valueOf(z), "−", valueOf(choice.total), "=", valueOf(candidate.log_probability)),
        formula(sub("p", wordOf(candidate.text.trim() || "␣")), "=", sup("e", rowOf(valueOf(candidate.log_probability))), "=", valueOf(Math.exp(candidate.log_probability), 4))],
      shapes: [["p", String(trace.config.vocab_size ?? choice.candidates.length)]],
      panels: [table(t("station probabilities"), [t("word"), "z", "log p", "p", ""], candidateRows(choice, candidate, (each) => {
        const p = Math.exp(each.log_probability);
        return [number(each.logit), number(each.log_probability), number(p, 4), bar(p)];
      }, go)), element("p", { class: "hint" }, t("the rest of the vocabulary", number(Math.max(0, 1 - listed), 4)))],
      origins: [[t("station logits"), { station: 18 }]],
    };
  },
};

export const choosing = {
  key: "choosing", sides: "last", isThere: (trace) => trace.choices.length > 0, names: () => [],
  show({ trace, cursor, info, source, t, go }) {
    const beams = trace.beams, choice = choiceAt(trace, cursor), best = choice.candidates[0];
    if (!beams) return { formula: formula("w", "=", "argmax", sub("p", "w")), numbers: [], shapes: [], panels: [], origins: [[t("station probabilities"), { station: 19 }]] };
    const width = source.isSaved ? null : element("label", { class: "control" }, t("beam width"), element("select", { onchange: (event) => go({ beam: Number(event.target.value), step: 0 }) },
      ...[1, 2, 3, 4, 5, 6, 8].map((each) => element("option", { value: String(each), selected: each === beams.width }, String(each)))));
    const alive = beams.rounds[Math.min(cursor.step + 1, beams.rounds.length - 1)] ?? [], winner = beams.hypotheses[0];
    const panels = [width, table(t("alive", Math.min(cursor.step + 1, beams.rounds.length - 1)), [t("alive", Math.min(cursor.step + 1, beams.rounds.length - 1)), "∑ log p"], alive.map((each) => element("tr", {}, element("th", { scope: "row" }, isolated(each.text)), element("td", {}, number(each.total))))),
      table(t("ended"), [t("ended"), "∑ log p", t("divided by"), t("score"), ""], beams.hypotheses.map((each, i) => element("tr", { class: i === 0 ? "lit" : "" }, element("th", { scope: "row" }, isolated(each.text)), element("td", {}, number(each.log_probability)), element("td", {}, number(each.divisor)), element("td", {}, number(each.score)),
        element("td", { class: "why" }, i === 0 ? t("won") : each.finished ? t("ended lower", number(winner.score - each.score)) : t("cut off")))))];
    if (beams.pruned.length) panels.push(table(t("pruned"), [t("pruned"), "∑ log p", t("why")], beams.pruned.map((each) => element("tr", {}, element("th", { scope: "row" }, isolated(each.text)), element("td", {}, number(each.total)),
      element("td", { class: "why" }, t("dropped because", each.step, number(each.best), number(each.kept)))))));
    return {
      formula: beams.width === 1 ? formula("w", "=", "argmax", sub("p", "w")) : formula("score", "=", frac(rowOf(sumOver("t"), "log", sub("p", sub("w", "t"))), sup(rowOf("(", frac(rowOf("5", "+", "n"), "6"), ")"), "α")), ",", "  ", "α", "=", nameOf(String(beams.length_penalty))),
      numbers: beams.width === 1 ? [formula("argmax", "=", wordOf(`“${best.text.trim()}”`), ",", "  ", "p", "=", valueOf(Math.exp(best.log_probability), 4))] : [formula("score", "=", frac(valueOf(winner.log_probability), valueOf(winner.divisor)), "=", valueOf(winner.score))],
      shapes: [[t("beam width"), String(beams.width)]], panels, origins: [[t("station probabilities"), { station: 19 }]],
    };
  },
};

export const evolution = {
  key: "evolution", sides: "all", isThere: (trace, info) => info.checkpoints.length > 0, names: () => [],
  show(context) {
    const { trace, cursor, site, source, t, go } = context, name = `${prefixOf(site, cursor.layer)}.weights`;
    const list = element("ol", { class: "states", "aria-busy": "true" }, element("li", {}, t("computing")));
    source.evolve(trace.query, name, context.signal).then(({ states }) => {
      list.removeAttribute("aria-busy");
      list.replaceChildren(...states.map((state) => stateOf(state, context)));
    }).catch((error) => {
      if (error.name !== "AbortError") list.replaceChildren(element("li", { role: "alert" }, error.message));
    });
    return {
      formula: formula(sub("θ", rowOf("s", "+", "1")), "=", sub("θ", "s"), "−", "η", sub("∇", "θ"), "L", "(", sub("θ", "s"), ")"), numbers: [],
      shapes: [[t("checkpoints"), String(context.info.checkpoints.length + 1)]], panels: [element("p", { class: "hint" }, t("evolution hint", t(`side ${site.id}`), cursor.layer + 1, cursor.head + 1)), list], origins: [],
    };
  },
};

function stateOf(state, { cursor, site, t, go }) {
  const weights = headOf(unpacked(state.tensor), cursor.head), canvas = element("canvas", { role: "img", "aria-label": `${t("matrix weights")}: ${state.output}` });
  paint(canvas, weights.values, ...weights.shape, [0, 1]);
  return element("li", { class: (state.checkpoint ?? 0) === cursor.checkpoint ? "lit" : "" },
    element("button", { type: "button", onclick: () => go({ checkpoint: state.checkpoint ?? 0 }) }, state.checkpoint === null ? t("final weights") : t("step", state.checkpoint)), canvas,
    element("p", {}, isolated(state.output)), element("small", {}, `∑ log p = ${number(state.log_probability, 2)}`));
}
