// Encoder-decoder attention as ribbons between the two sentences: the wider, the larger the weight.

import { drawn, element, shown } from "./dom.js";
import { rowAt } from "./places.js";
import { colourOf } from "./scale.js";

const WIDE = 900, HIGH = 230, TOP = 34, BOTTOM = HIGH - 34;

export function ribbons({ arrays, row, site, t, go }) {
  const above = site.keys.tokens, below = site.queries.output;
  const x = (i, count) => ((i + 0.5) * WIDE) / count;
  const picture = drawn("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": t("ribbons") });
  const order = below.map((_, r) => r).sort((a, b) => (a === row) - (b === row)); // the selected token last, so that it is on top
  for (const r of order) {
    const line = rowAt(arrays.weights, r);
    line.forEach((weight, s) => {
      if (weight < 0.04) return;
      const [from, to] = [x(r, below.length), x(s, above.length)], middle = (TOP + BOTTOM) / 2;
      picture.append(drawn("path", {
        d: `M ${from} ${BOTTOM} C ${from} ${middle}, ${to} ${middle}, ${to} ${TOP}`, class: r === row ? "ribbon lit" : "ribbon",
        "stroke-width": Math.max(1, 16 * weight), stroke: colourOf(weight), onclick: () => go({ row: r, column: s, step: r }),
      }));
    });
  }
  above.forEach((piece, s) => picture.append(word(piece, x(s, above.length), TOP - 12, above.length, rowAt(arrays.weights, row)[s] > 0.25)));
  below.forEach((piece, r) => {
    const node = word(piece, x(r, below.length), BOTTOM + 24, below.length, r === row);
    node.addEventListener("click", () => go({ row: r, step: r }));
    picture.append(node);
  });
  return element("figure", { class: "ribbons" }, element("figcaption", {}, element("span", { class: "title" }, t("ribbons"))), element("div", { class: "scroll" }, picture));
}

function word(text, x, y, count, lit) {
  const size = Math.max(9, Math.min(19, (1.55 * WIDE) / count / Math.max(4, shown(text).length)));
  return drawn("text", { x, y, "text-anchor": "middle", "font-size": size, class: lit ? "lit" : "" }, shown(text));
}
