// Stations 1 to 3, from text to vectors with positions, and 13, layer by layer.

import { unpacked } from "./api.js";
import { element, isolated, number } from "./dom.js";
import { dotted, factor, formula, frac, nameOf, root, rowOf, sub, sup, valueOf, wordOf } from "./formula.js";
import { matrix } from "./matrix.js";
import { at, cosine, lstmsOf, rowAt, sinusoid } from "./places.js";

export const pieces = {
  key: "pieces", sides: "own", isThere: () => true, names: () => [],
  show({ trace, cursor, site, t, go }) {
    const side = site.side, row = Math.min(cursor.row, side.tokens.length - 1);
    const chips = element("ol", { class: "chips", "aria-label": t("pieces of", t(`side ${side.name}`)) });
    side.tokens.forEach((piece, i) => chips.append(element("li", {},
      element("button", { type: "button", "aria-pressed": i === row, onclick: () => go({ row: i }) },
        trace.picture ? patchOf(trace, i) : null, isolated(piece), element("small", {}, side.ids[i] ?? i + 1)))));
    return {
      formula: formula("x", "=", "(", sub("x", "1"), ",", "…", ",", sub("x", "n"), ")", "  ", sub("x", "i"), "∈", "{", "0", ",", "…", ",", nameOf("V"), "−", "1", "}"),
      numbers: [formula(sub("x", String(row + 1)), "=", wordOf(`“${side.tokens[row].trim()}”`), "=", nameOf(String(side.ids[row] ?? row + 1)))],
      shapes: [["x", `${side.tokens.length}`], ["V", String(trace.config.vocab_size ?? "")]],
      panels: [chips],
    };
  },
};

// The patch of an image that a token stands for. The first token is the class token and has none.
function patchOf(trace, piece) {
  if (piece === 0) return null;
  const { shape: [channels, height, width], values } = unpacked(trace.picture), size = trace.config.patch, across = width / size;
  const canvas = element("canvas", { class: "patch", width: size, height: size, "aria-hidden": "true" }), context = canvas.getContext("2d");
  const picture = context.createImageData(size, size), top = Math.floor((piece - 1) / across) * size, left = ((piece - 1) % across) * size;
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) for (let c = 0; c < 4; c++) {
    const channel = Math.min(c, channels - 1), value = values[(channel * height + top + y) * width + left + x];
    picture.data[4 * (y * size + x) + c] = c === 3 ? 255 : (value + 1) * 127.5;
  }
  context.putImageData(picture, 0, 0);
  return canvas;
}

const embeddingRow = (site, row) => `weights/${site.side.embedding}[${site.side.ids[row]}]`;

export const embedding = {
  key: "embedding", sides: "own", isThere: (trace) => trace.has(`${trace.sides[0].name}.tokens`),
  names: ({ site, cursor }) => [`${site.side.name}.tokens`, ...(site.side.embedding ? [embeddingRow(site, Math.min(cursor.row, site.side.ids.length - 1))] : [])],
  show({ trace, cursor, site, t, go }) {
    const array = trace.get(`${site.side.name}.tokens`), [rows, width] = array.shape;
    const row = Math.min(cursor.row, rows - 1), column = Math.min(cursor.column, width - 1);
    const value = at(array, row, column), own = site.side.embedding ? trace.get(embeddingRow(site, row))?.values[column] : undefined;
    const scaled = own !== undefined && site.side.embedding_scale !== 1;
    return {
      formula: formula(sub("e", "i"), "=", ...(scaled ? [root("d"), "·"] : []), sub("E", sub("x", "i"))),
      numbers: own === undefined ? [] : [formula(sub("e", `${row + 1},${column + 1}`), "=", ...(scaled ? [root(String(width)), "·"] : []), factor(own, 4), "=", valueOf(value))],
      shapes: [["E", `${trace.config.vocab_size ?? "V"} × ${width}`], ["e", `${rows} × ${width}`]],
      panels: [matrix({ title: t("embeddings"), ...array, rows: site.side.tokens, kind: "signed", row, column, pick: (r, c, k) => go({ row: r, column: c }, k) })],
      origins: [[t("station pieces"), { station: 1, row }]],
    };
  },
};

export const positions = {
  key: "positions", sides: "own", isThere: (trace) => trace.has(`${trace.sides[0].name}.positions`),
  names: ({ site }) => ["tokens", "positions", "embedded"].map((part) => `${site.side.name}.${part}`),
  show({ trace, cursor, site, t, go }) {
    const [tokens, table, total] = this.names({ site }).map((name) => trace.get(name)), [rows, width] = total.shape;
    const row = Math.min(cursor.row, rows - 1), column = Math.min(cursor.column, width - 1), layout = trace.config.positions;
    const pick = (r, c, k) => go({ row: r, column: c }, k), common = { rows: site.side.tokens, row, column, pick };
    const fixed = layout === "interleaved" || layout === "halves", half = Math.ceil(width / 2);
    const paper = layout === "halves" ? (column < half ? 2 * column : 2 * (column - half) + 1) : column;
    const angle = frac(nameOf(String(row)), sup(nameOf("10000"), frac(rowOf("2", "·", String(Math.floor(paper / 2))), nameOf(String(width)))));
    const other = layout === "halves" ? "interleaved" : "halves";
    const flat = { shape: [rows, width], values: table.values };
    return {
      formula: fixed
        ? formula(sub("P", rowOf("pos", ",", "2", "i")), "=", "sin", frac("pos", sup("10000", frac(rowOf("2", "i"), "d"))), ",", "  ", sub("P", rowOf("pos", ",", "2", "i", "+", "1")), "=", "cos", frac("pos", sup("10000", frac(rowOf("2", "i"), "d"))), ",", "  ", "x", "=", "e", "+", "P")
        : site.side.sum_is_normed ? formula("x", "=", "norm", rowOf("(", "e", "+", "P", "+", nameOf("segment"), ")")) : formula("x", "=", "e", "+", "P"),
      numbers: [
        ...(fixed ? [formula(sub("P", `${row},${column}`), "=", paper % 2 ? "cos" : "sin", angle, "=", valueOf(at(flat, row, column), 4))] : []),
        site.side.sum_is_normed ? null : formula(sub("x", `${row},${column}`), "=", valueOf(at(tokens, row, column)), "+", factor(at(flat, row, column)), "=", valueOf(at(total, row, column))),
      ],
      shapes: [["P", `${rows} × ${width}`], ["x", `${rows} × ${width}`]],
      panels: [
        matrix({ title: `P — ${t(`layout ${layout}`)}`, ...flat, kind: "signed", ...common }),
        matrix({ title: site.side.sum_is_normed ? "x" : "x = e + P", ...total, kind: "signed", ...common }),
        fixed ? element("details", {}, element("summary", {}, t("other layout", t(`layout ${other}`))),
          matrix({ title: `P — ${t(`layout ${other}`)}`, ...sinusoid(rows, width, other), kind: "signed", ...common })) : null,
      ],
      origins: [[t("station embedding"), { station: 2 }]],
    };
  },
};

export const layers = {
  key: "layers", sides: "own", isThere: () => true,
  names: ({ trace, site }) => layerNames(trace, site.side),
  show({ trace, cursor, site, t, go }) {
    const names = layerNames(trace, site.side), lstms = lstmsOf(trace, site.side), states = names.map((name) => trace.get(name));
    const columns = states[0].shape[0], values = new Float32Array(names.length * columns);
    states.forEach((state, l) => {
      for (let c = 0; c < columns; c++) values[l * columns + c] = cosine(rowAt(state, c), rowAt(states[0], c));
    });
    const rows = names.map((_, l) => (lstms ? `LSTM ${l + 1}` : l === 0 ? t("input") : l <= site.side.stack.depth ? t("layer", l) : t("last norm")));
    const row = Math.min(cursor.row, rows.length - 1), column = Math.min(cursor.column, columns - 1);
    const one = rowAt(states[row], column), first = rowAt(states[0], column);
    const { total } = dotted([...one].map((each, i) => [each, first[i]]));
    const start = lstms ? "(1)" : "(0)", length = (vector) => Math.sqrt(vector.reduce((sum, each) => sum + each * each, 0));
    return {
      formula: formula("cos", "=", frac(rowOf(sup("x", "(l)"), "·", sup("x", start)), rowOf("‖", sup("x", "(l)"), "‖", "‖", sup("x", start), "‖"))),
      numbers: [formula("cos", "=", frac(valueOf(total, 2), rowOf(valueOf(length(one), 2), "·", valueOf(length(first), 2))), "=", valueOf(values[row * columns + column]))],
      shapes: [["x", states[row].shape.join(" × ")], ["N", String(lstms || site.side.stack.depth)]],
      panels: [matrix({
        title: t("cosine to input"), shape: [names.length, columns], values, rows, columns: site.side.tokens, kind: "signed", row, column,
        pick: (r, c, k) => go({ row: r, column: c }, k), note: t("length of vector", number(length(one), 2)),
      })],
      origins: lstms ? [[t("station embedding"), { station: 2, side: site.side.name, row: column, column: 0 }]] : row > 0 && row <= site.side.stack.depth ? [[t("station feed_forward"), { station: 12, layer: row - 1, row: column, column: 0 }]] : [],
    };
  },
};

function layerNames(trace, side) {
  const lstms = lstmsOf(trace, side);
  if (lstms) return Array.from({ length: lstms }, (_, l) => `${side.name}.${l}.states`);
  return [`${side.name}.embedded`, ...Array.from({ length: side.stack.depth }, (_, l) => `${side.name}.${l}.feed_forward.result`), ...(side.stack.norm === "pre" ? [`${side.name}.output`] : [])];
}
