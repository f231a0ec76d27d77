// Stations 11, 12 and 17: add & norm, and the feed-forward layer.

import { element, number } from "./dom.js";
import { dotted, factor, formula, frac, nameOf, root, rowOf, sub, valueOf } from "./formula.js";
import { matrix } from "./matrix.js";
import { at, inputOf, isPre, rowAt, rowNames, statisticsOf, streamInto, weightsOf } from "./places.js";

const place = (site, cursor, sublayer) => `${site.side.name}.${cursor.layer}.${sublayer}`;
const cell = (letter, row, column) => sub(letter, `${row + 1},${column + 1}`);

// The sublayer inside the residual connection: that of the site, or the feed-forward layer.
const around = (site, cursor) => (cursor.part.startsWith("ffn") ? "feed_forward" : site.sublayer);

export const hasFeedForward = (trace) => trace.has(`${trace.sides[0].name}.0.feed_forward.output`);

export const addNorm = {
  key: "add_norm", sides: "all", isThere: (trace) => hasFeedForward(trace),
  names({ site, cursor, trace }) {
    const sublayer = around(site, cursor), own = place(site, cursor, sublayer), norm = weightsOf(site.side, cursor.layer, `${sublayer}.norm`);
    return [streamInto(site.side, cursor.layer, sublayer, trace), `${own}.output`, `${own}.${isPre(site.side) ? "normed" : "sum"}`, `${own}.result`, `${norm}.weight`, `${norm}.bias`];
  },
  show({ trace, cursor, site, t, go }) {
    const pre = isPre(site.side), sublayer = around(site, cursor), ffn = sublayer === "feed_forward";
    const [x, output, between, result, gain, bias] = this.names({ site, cursor, trace }).map((name) => trace.get(name));
    const row = Math.min(cursor.row, x.shape[0] - 1), column = Math.min(cursor.column, x.shape[1] - 1), prefix = ffn ? "ffn " : "att ";
    const before = pre ? x : between, normed = pre ? between : result, { mean, variance } = statisticsOf(rowAt(before, row));
    const normNumbers = gain ? [formula("norm", "=", frac(rowOf(valueOf(at(before, row, column)), "−", factor(mean)), root(rowOf(valueOf(variance), "+", "ε"))), "·", factor(gain.values[column]), "+", factor(bias.values[column]), "=", valueOf(at(normed, row, column)))] : [];
    const sum = formula(pre ? cell("x′", row, column) : nameOf("s"), "=", valueOf(at(x, row, column)), "+", factor(at(output, row, column)), "=", valueOf(at(pre ? result : between, row, column)));
    const f = ffn ? "FFN" : "Att";
    const panel = (array, title, name) => matrix({ title, ...array, rows: rowNames(site.queries), kind: "signed", row, column, pick: (r, c, k) => go({ row: r, column: c, part: prefix + name }, k) });
    const choose = element("div", { class: "choice", role: "group" }, ...["att", "ffn"].map((each) => element("button", {
      type: "button", "aria-pressed": (each === "ffn") === ffn, onclick: () => go({ part: `${each} result` }),
    }, t(each === "ffn" ? "around feed-forward" : "around attention"))));
    return {
      formula: pre ? formula("x′", "=", "x", "+", f, "(", "norm", "(", "x", ")", ")", ",", "  ", "norm", "(", "v", ")", "=", "γ", frac(rowOf("v", "−", "μ"), root(rowOf("σ²", "+", "ε"))), "+", "β")
        : formula("x′", "=", "norm", "(", "x", "+", f, "(", "x", ")", ")", ",", "  ", "norm", "(", "v", ")", "=", "γ", frac(rowOf("v", "−", "μ"), root(rowOf("σ²", "+", "ε"))), "+", "β"),
      numbers: pre ? [...normNumbers, sum] : [sum, ...normNumbers], shapes: [["x", x.shape.join(" × ")], ["x′", result.shape.join(" × ")]],
      panels: [choose, panel(x, t("stream before"), "x"), ...(pre ? [panel(between, "norm(x)", "between"), panel(output, `${f}(norm(x))`, "output")] : [panel(output, `${f}(x)`, "output"), panel(between, `x + ${f}(x)`, "between")]), panel(result, "x′", "result")],
      origins: [[t(ffn ? "station feed_forward" : "station heads"), ffn ? { station: 12, row, column, part: "output" } : { station: 10, row, column, part: "output" }]],
      note: t("mean and deviation", number(mean), number(Math.sqrt(variance))),
    };
  },
};

function feedForwardOf(sides, isThere, key) {
  return {
    key, sides, isThere,
    names({ site, cursor, trace }) {
      const own = place(site, cursor, "feed_forward"), weights = weightsOf(site.side, cursor.layer, "feed_forward.sublayer");
      const names = [inputOf(site.side, cursor.layer, "feed_forward", trace), `${own}.hidden`, `${own}.output`];
      const hidden = cursor.part !== "output", column = Math.min(cursor.column, (hidden ? site.side.stack.ffn_width : site.side.stack.width) - 1);
      const linear = hidden ? "expand" : "contract";
      return [...names, `${weights}.${linear}.weight[${column}]`, `${weights}.${linear}.bias`];
    },
    show({ trace, cursor, site, t, go }) {
      const [x, hidden, output, weight, bias] = this.names({ site, cursor, trace }).map((name) => trace.get(name));
      const part = cursor.part === "output" ? "output" : "hidden", array = part === "output" ? output : hidden;
      const row = Math.min(cursor.row, array.shape[0] - 1), column = Math.min(cursor.column, array.shape[1] - 1);
      const quiet = hidden.values.reduce((count, each) => count + (each <= 0), 0) / hidden.values.length;
      const common = (name) => ({ rows: rowNames(site.queries), kind: "signed", row: part === name ? row : cursor.row, column: part === name ? column : 0, active: part === name, pick: (r, c, k) => go({ row: r, column: c, part: name }, k) });
      const numbers = [];
      if (weight && bias) {
        const from = rowAt(part === "output" ? hidden : x, row), { parts } = dotted([...from].map((each, i) => [each, weight.values[i]]), 3), inner = [...parts, "+", factor(bias.values[column])];
        numbers.push(part === "output" ? formula(cell("y", row, column), "=", ...inner, "=", valueOf(at(output, row, column))) : formula(cell("h", row, column), "=", "σ", "(", ...inner, ")", "=", valueOf(at(hidden, row, column))));
      }
      return {
        formula: formula("FFN", "(", "x", ")", "=", "σ", "(", "x", sub("W", "1"), "+", sub("b", "1"), ")", sub("W", "2"), "+", sub("b", "2"), ",", "  ", "σ", "=", nameOf(site.side.stack.activation.replace("_", ""))), numbers,
        shapes: [["x", x.shape.join(" × ")], ["h", hidden.shape.join(" × ")], ["y", output.shape.join(" × ")]],
        panels: [matrix({ title: t("hidden layer"), ...hidden, ...common("hidden"), note: t("share of zeros", `${(100 * quiet).toFixed(0)} %`) }), matrix({ title: t("output of it"), ...output, ...common("output") })],
        origins: [part === "output" ? [t("hidden layer"), { part: "hidden", row, column: 0 }] : [t("station add_norm"), { station: 11, row, column: 0, part: "att result" }]],
      };
    },
  };
}

export const feedForward = feedForwardOf("own", hasFeedForward, "feed_forward");
export const decoderFeedForward = feedForwardOf("causal", (trace) => trace.sides.some((side) => side.causal), "decoder_feed_forward");
