// Stations 4 to 10, attention step by step, and 14 to 16, the same between the two sentences.

import { element, isolated, number } from "./dom.js";
import { dotted, factor, formula, frac, nameOf, root, rowOf, sub, sumOver, sup, valueOf } from "./formula.js";
import { matrix } from "./matrix.js";
import { at, attentionOf, concatenated, headOf, inputOf, lstmsOf, prefixOf, rowAt, rowNames } from "./places.js";
import { ribbons } from "./ribbons.js";

const LETTERS = { query: "Q", key: "K", value: "V" };
const headWidth = (site) => site.side.stack.width / site.side.stack.heads;
const cellAt = (letter, row, column) => sub(letter, `${row + 1},${column + 1}`);

function limits(cursor, [rows, columns]) {
  return [Math.min(cursor.row, rows - 1), Math.min(cursor.column, columns - 1)];
}

// The decoding step of a row of the last side, if it has one.
export function stepOfRow(trace, row) {
  const step = trace.choices.findIndex((choice) => choice.row === row);
  return step >= 0 && trace.sides.at(-1).output.length ? { step } : {};
}

function named(site, cursor, ...parts) {
  return parts.map((part) => `${prefixOf(site, cursor.layer)}.${part}`);
}

// The input of keys and values: the memory in encoder-decoder attention.
function keySource(site, cursor, trace) {
  return site.id === "cross" ? `${site.keys.name}.output` : inputOf(site.side, cursor.layer, site.sublayer, trace);
}

function projection(name, { site, cursor, trace }) {
  const place = `${attentionOf(site, cursor.layer)}.${name}`;
  const source = name === "query" ? inputOf(site.side, cursor.layer, site.sublayer, trace) : keySource(site, cursor, trace);
  return { weight: `${place}.weight`, bias: `${place}.bias`, source };
}

// One value of Q, K or V, with the row of x and the column of W that give it.
function projected(name, context, row, column, value) {
  const { trace, site, cursor } = context, { weight, bias, source } = projection(name, context);
  const input = trace.get(source), own = trace.get(weight), shift = trace.get(bias);
  if (!input || !own || trace.config.positions === "rotary") return [];
  const line = cursor.head * headWidth(site) + column, x = rowAt(input, row), w = rowAt(own, line);
  const { parts, left } = dotted([...x].map((each, i) => [each, w[i]]), 3);
  return [formula(cellAt(LETTERS[name], row, column), "=", ...parts, "+", factor(shift.values[line]), "=", valueOf(value)), left];
}

export const projections = {
  key: "projections", sides: "all", isThere: (trace) => trace.sides.length > 0,
  names(context) {
    const each = ["query", "key", "value"].map((name) => projection(name, context));
    return [...named(context.site, context.cursor, "query", "key", "value"), ...each.flatMap(({ weight, bias, source }) => [weight, bias, source])];
  },
  show(context) {
    const { trace, cursor, site, t, go } = context, part = LETTERS[cursor.part] ? cursor.part : "query";
    const panels = Object.entries(LETTERS).map(([name, letter]) => {
      const array = headOf(trace.get(named(site, cursor, name)[0]), cursor.head), side = name === "query" ? site.queries : site.keys;
      const [row, column] = part === name ? limits(cursor, array.shape) : [-1, -1];
      return matrix({ title: letter, label: `${letter}: ${t(`role ${name}`)}`, ...array, rows: side.tokens, kind: "signed", row: Math.max(0, row), column: part === name ? column : 0, active: part === name,
        pick: (r, c, k) => go({ row: r, column: c, part: name }, k), note: t(`role ${name}`) });
    });
    const array = headOf(trace.get(named(site, cursor, part)[0]), cursor.head), [row, column] = limits(cursor, array.shape);
    const [line, left] = projected(part, context, row, column, at(array, row, column));
    return {
      formula: formula("Q", "=", "x", sub("W", "Q"), "+", sub("b", "Q"), ",", "  ", "K", "=", "x", sub("W", "K"), "+", sub("b", "K"), ",", "  ", "V", "=", "x", sub("W", "V"), "+", sub("b", "V")),
      numbers: [line], left,
      shapes: [["x", `${site.queries.tokens.length} × ${site.side.stack.width}`], ["W", `${site.side.stack.width} × ${headWidth(site)}`], ["Q", array.shape.join(" × ")]],
      panels: [element("div", { class: "three" }, ...panels)],
      origins: site.id === "cross" && part !== "query" ? [[t("station memory"), { station: 14, row, column }]] : [cameFrom(context, row)],
    };
  },
};

// The input of a query: the result of the layer below or, in the first layer, embedding plus position.
function cameFrom({ trace, site, cursor, t }, row) {
  const side = site.side.name;
  if (cursor.layer || lstmsOf(trace, site.side)) return [t("station layers"), { station: 13, side, row: cursor.layer, column: row }];
  return trace.has(`${side}.positions`) ? [t("station positions"), { station: 3, side, row }] : [t("station embedding"), { station: 2, side, row }];
}

// Stations that show one T × S matrix of a head.
function square(part, { kind = "signed", formulaOf, numbersOf, noteOf, extra, needs, letter, originsOf, allowed }) {
  return {
    sides: allowed ?? "all", isThere: (trace) => trace.sides.length > 0,
    names: ({ site, cursor }) => named(site, cursor, part, ...needs),
    show(context) {
      const { trace, cursor, site, t, go } = context;
      const arrays = Object.fromEntries([part, ...needs].map((name) => [name, headOf(trace.get(named(site, cursor, name)[0]), cursor.head)]));
      const array = arrays[part], [row, column] = limits(cursor, array.shape);
      const hides = part === "scores" || part === "scaled" ? null : (r, c) => at(arrays.masked ?? array, r, c) === -Infinity;
      const anyHidden = hides && (arrays.masked ?? array).values.includes(-Infinity);
      const panel = matrix({
        title: t(`matrix ${part}`), label: `${t(`matrix ${part}`)}, ${t("layer", cursor.layer + 1)}, ${t("head", cursor.head + 1)}`, ...array,
        rows: rowNames(site.queries), columns: site.keys.tokens, kind, row, column,
        hidden: anyHidden ? hides : undefined, hiddenText: t("may not look"), pick: (r, c, k) => go({ row: r, column: c, ...stepOfRow(trace, r) }, k),
      });
      return {
        formula: formulaOf(site), numbers: numbersOf({ ...context, arrays, row, column }), note: noteOf?.({ ...context, arrays, row }),
        shapes: [[letter, array.shape.join(" × ")]], panels: [panel, ...(extra ? extra({ ...context, arrays, row, column }) : [])],
        origins: originsOf({ ...context, row, column }),
      };
    },
  };
}

export const scores = {
  key: "scores",
  ...square("scores", {
    letter: "QKᵀ", needs: ["query", "key"],
    formulaOf: () => formula(nameOf("S"), "=", "Q", sup("K", "T"), ",", "  ", sub("S", rowOf("i", ",", "j")), "=", sumOver("k"), sub("Q", rowOf("i", ",", "k")), sub("K", rowOf("j", ",", "k"))),
    numbersOf({ arrays, row, column }) {
      const q = rowAt(arrays.query, row), k = rowAt(arrays.key, column), { parts } = dotted([...q].map((each, i) => [each, k[i]]), 4);
      return [formula(cellAt("S", row, column), "=", ...parts, "=", valueOf(at(arrays.scores, row, column)))];
    },
    extra({ arrays, row, column, site, t, go }) {
      const q = rowAt(arrays.query, row), k = rowAt(arrays.key, column), width = q.length, values = new Float32Array(3 * width);
      values.set(q);
      values.set(k, width);
      values.set(q.map((each, i) => each * k[i]), 2 * width);
      return [matrix({ title: t("query times key"), shape: [3, width], values, rows: [`Q ${site.queries.tokens[row]}`, `K ${site.keys.tokens[column]}`, "Q · K"], kind: "signed", row: 2, column: 0, active: false, pick: () => go({}) })];
    },
    originsOf: ({ row, column, t }) => [[`Q ${t("row", row + 1)}`, { station: 4, part: "query", row, column: 0 }], [`K ${t("row", column + 1)}`, { station: 4, part: "key", row: column, column: 0 }]],
  }),
};

export const scaling = {
  key: "scaling",
  ...square("scaled", {
    letter: "S / √d", needs: ["scores"],
    formulaOf: () => formula(sup("S", "′"), "=", frac(rowOf("Q", sup("K", "T")), root(sub("d", "k")))),
    numbersOf: ({ arrays, row, column, site }) => [formula(cellAt("S′", row, column), "=", frac(valueOf(at(arrays.scores, row, column)), root(String(headWidth(site)))), "=", valueOf(at(arrays.scaled, row, column)))],
    originsOf: ({ t }) => [[t("station scores"), { station: 5 }]],
  }),
};

export const mask = {
  key: "mask",
  ...square("masked", {
    letter: "M", needs: ["scaled"],
    formulaOf: () => formula(sub("M", rowOf("i", ",", "j")), "=", sub("S′", rowOf("i", ",", "j")), ",", "  ", sub("M", rowOf("i", ",", "j")), "=", "−", "∞", "  ", "(", "j", ">", "i", ")"),
    numbersOf: ({ arrays, row, column }) => [formula(cellAt("M", row, column), "=", valueOf(at(arrays.masked, row, column)))],
    originsOf: ({ t }) => [[t("station scaling"), { station: 6 }]],
  }),
};

// The maximum that softmax subtracts from a row before the exponential; null if e^x is readable without it.
function shiftOf({ arrays, row }) {
  const largest = Math.max(...rowAt(arrays.masked, row));
  return Math.abs(largest) > 12 ? largest : null;
}

function softmaxNumbers({ arrays, row, column }) {
  const line = rowAt(arrays.masked, row), score = at(arrays.masked, row, column), shift = shiftOf({ arrays, row });
  const shifted = (exponent) => sup("e", shift === null ? rowOf(exponent) : rowOf(exponent, "−", factor(shift)));
  const total = line.reduce((sum, each) => sum + Math.exp(each - (shift ?? 0)), 0), digits = shift === null ? 3 : 4;
  return [formula(cellAt("A", row, column), "=", frac(shifted(valueOf(score)), rowOf(sumOver("j"), shifted(sub("M", rowOf(String(row + 1), ",", "j"))))), "=",
    frac(valueOf(Math.exp(score - (shift ?? 0)), digits), valueOf(total, digits)), "=", valueOf(at(arrays.weights, row, column), 4))];
}

function softmaxNote({ arrays, row, t }) {
  const shift = shiftOf({ arrays, row });
  return shift === null ? undefined : t("softmax shift", number(shift));
}

function rowBars({ arrays, row, site, t }) {
  const line = rowAt(arrays.weights, row), total = line.reduce((sum, each) => sum + each, 0);
  return [element("div", { class: "rowbars", role: "img", "aria-label": t("row adds up", number(total, 4)) },
    element("p", {}, isolated(rowNames(site.queries)[row]), " ", element("output", { class: "rowsum" }, t("row adds up", number(total, 4)))),
    element("div", { class: "bars" }, ...[...line].map((each, i) => element("div", { class: "bar" },
      element("i", { style: { "--part": String(each) } }), element("small", {}, isolated(site.keys.tokens[i]))))))];
}

const SOFTMAX = {
  letter: "A", kind: "unit", needs: ["masked"],
  formulaOf: () => formula("A", "=", "softmax", "(", "M", ")", ",", "  ", sub("A", rowOf("i", ",", "j")), "=", frac(sup("e", sub("M", rowOf("i", ",", "j"))), rowOf(sumOver("m"), sup("e", sub("M", rowOf("i", ",", "m")))))),
  numbersOf: softmaxNumbers, noteOf: softmaxNote, extra: rowBars, originsOf: ({ t }) => [[t("station mask"), { station: 7 }]],
};

export const softmax = { key: "softmax", ...square("weights", SOFTMAX) };

export const maskedAttention = {
  key: "masked_attention", ...square("weights", { ...SOFTMAX, allowed: "causal" }),
  isThere: (trace) => trace.sides.some((side) => side.causal),
};

export const weightedSum = {
  key: "weighted_sum", sides: "all", isThere: (trace) => trace.sides.length > 0,
  names: ({ site, cursor }) => named(site, cursor, "weights", "value", "heads"),
  show({ trace, cursor, site, t, go }) {
    const [weights, values, z] = this.names({ site, cursor }).map((name) => headOf(trace.get(name), cursor.head));
    const [row, column] = limits(cursor, z.shape), line = rowAt(weights, row);
    const { parts, order } = dotted([...line].map((each, s) => [each, at(values, s, column)]), 4);
    const list = element("ol", { class: "terms" }, ...order.slice(0, 6).map((s) => element("li", {},
      element("button", { type: "button", onclick: () => go({ station: 4, part: "value", row: s, column }) }, isolated(site.keys.tokens[s])),
      element("i", { style: { "--part": String(line[s]) } }), ` ${number(line[s])} · ${number(at(values, s, column))} = ${number(line[s] * at(values, s, column))}`)));
    return {
      formula: formula("Z", "=", "A", "V", "=", "softmax", rowOf("(", frac(rowOf("Q", sup("K", "T")), root(sub("d", "k"))), ")"), "V"),
      numbers: [formula(cellAt("Z", row, column), "=", ...parts, "=", valueOf(at(z, row, column)))],
      shapes: [["A", weights.shape.join(" × ")], ["V", values.shape.join(" × ")], ["Z", z.shape.join(" × ")]],
      panels: [matrix({ title: "Z", ...z, rows: rowNames(site.queries), kind: "signed", row, column, pick: (r, c, k) => go({ row: r, column: c }, k) }),
        element("section", { class: "made-of" }, element("h3", {}, t("made of")), list)],
      origins: [[t("station softmax"), { station: 8, row, column: order[0] }]],
    };
  },
};

export const heads = {
  key: "heads", sides: "all", isThere: (trace) => trace.sides.length > 0,
  names({ site, cursor }) {
    const place = `${attentionOf(site, cursor.layer)}.output`;
    return [...named(site, cursor, "heads", "output"), `${place}.weight`, `${place}.bias`];
  },
  show({ trace, cursor, site, t, go }) {
    const [each, output, weight, bias] = this.names({ site, cursor }).map((name) => trace.get(name));
    const joined = concatenated(each), part = cursor.part === "output" ? "output" : "heads", array = part === "output" ? output : joined;
    const [row, column] = limits(cursor, array.shape), width = each.shape[2];
    const common = (name) => ({ rows: rowNames(site.queries), kind: "signed", row: part === name ? row : 0, column: part === name ? column : 0, active: part === name, pick: (r, c, k) => go({ row: r, column: c, part: name }, k) });
    let numbers = [formula(cellAt(nameOf("concat"), row, column), "=", sub(sup("Z", `(${Math.floor(column / width) + 1})`), `${row + 1},${(column % width) + 1}`), "=", valueOf(at(array, row, column)))];
    if (part === "output" && weight) {
      const x = rowAt(joined, row), w = rowAt(weight, column), { parts } = dotted([...x].map((value, i) => [value, w[i]]), 3);
      numbers = [formula(cellAt("O", row, column), "=", ...parts, "+", factor(bias.values[column]), "=", valueOf(at(output, row, column)))];
    }
    return {
      formula: formula("O", "=", "concat", "(", sup("Z", "(1)"), ",", "…", ",", sup("Z", "(h)"), ")", sub("W", "O"), "+", sub("b", "O")), numbers,
      shapes: [["Z", each.shape.join(" × ")], ["concat", joined.shape.join(" × ")], ["O", output.shape.join(" × ")]],
      panels: [matrix({ title: t("concatenated heads", each.shape[0]), ...joined, ...common("heads"), bounds: width }), matrix({ title: `O = concat · W`, ...output, ...common("output") })],
      origins: part === "heads" ? [[t("station weighted_sum"), { station: 9, head: Math.floor(column / width), column: column % width }]] : [[t("concatenated heads", each.shape[0]), { part: "heads", row, column: 0 }]],
    };
  },
};

export const memory = {
  key: "memory", sides: "cross", isThere: (trace) => trace.sides.length > 1,
  names: ({ site, cursor }) => [`${site.keys.name}.output`, ...named(site, cursor, "key", "value")],
  show({ trace, cursor, site, t, go }) {
    const [all, keys, values] = this.names({ site, cursor }).map((name) => trace.get(name));
    const array = { memory: all, key: headOf(keys, cursor.head), value: headOf(values, cursor.head) }, part = array[cursor.part] ? cursor.part : "memory";
    const [row, column] = limits(cursor, array[part].shape);
    const panel = (name, title) => matrix({ title, ...array[name], rows: site.keys.tokens, kind: "signed", row: part === name ? row : 0, column: part === name ? column : 0, active: part === name, pick: (r, c, k) => go({ row: r, column: c, part: name }, k) });
    return {
      formula: formula("K", "=", "memory", "·", sub("W", "K"), "+", sub("b", "K"), ",", "  ", "V", "=", "memory", "·", sub("W", "V"), "+", sub("b", "V")),
      numbers: [formula(cellAt(nameOf(part === "memory" ? "memory" : LETTERS[part]), row, column), "=", valueOf(at(array[part], row, column)))],
      shapes: [["memory", all.shape.join(" × ")], ["K", array.key.shape.join(" × ")], ["V", array.value.shape.join(" × ")]],
      panels: [panel("memory", t("memory")), element("div", { class: "two" }, panel("key", `K — ${t("layer", cursor.layer + 1)}`), panel("value", `V — ${t("layer", cursor.layer + 1)}`))],
      origins: [[t("station layers"), { station: 13, side: site.keys.name, row: lstmsOf(trace, site.keys) ? lstmsOf(trace, site.keys) - 1 : site.keys.stack.depth, column: row }]],
    };
  },
};

export const crossAttention = {
  key: "cross_attention",
  ...square("weights", { ...SOFTMAX, allowed: "cross", extra: (context) => [ribbons(context), ...rowBars(context)] }),
  isThere: (trace) => trace.sides.length > 1,
};
