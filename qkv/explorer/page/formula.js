// Formulas in MathML, built from small parts.

import { element, filled, number } from "./dom.js";

export function mathml(tag, ...children) {
  return filled(document.createElementNS("http://www.w3.org/1998/Math/MathML", tag), {}, children);
}

const asMath = (each) => (each instanceof Node ? each : typeof each === "number" ? valueOf(each) : nameOf(each));

export const nameOf = (text) => mathml(/^[\p{L}′]+$/u.test(text) ? "mi" : /^[\d.,]+$/.test(text) ? "mn" : "mo", text);
export const wordOf = (text) => mathml("mtext", text);
export const rowOf = (...parts) => mathml("mrow", ...parts.map(asMath));
export const sub = (base, below) => mathml("msub", asMath(base), asMath(below));
export const sup = (base, above) => mathml("msup", asMath(base), asMath(above));
export const frac = (above, below) => mathml("mfrac", asMath(above), asMath(below));
export const root = (inner) => mathml("msqrt", asMath(inner));
export const sumOver = (below) => mathml("munder", mathml("mo", "∑"), asMath(below));

export function valueOf(value, digits = 3) {
  const text = number(value, digits);
  return text.startsWith("−") ? mathml("mrow", mathml("mo", "−"), mathml("mn", text.slice(1))) : mathml("mn", text);
}

// A number inside a product: negative ones get brackets.
export function factor(value, digits = 3) {
  return value < 0 ? mathml("mrow", mathml("mo", "("), valueOf(value, digits), mathml("mo", ")")) : valueOf(value, digits);
}

// A formula with line breaks, which MathML does not support: between its parts, or before = and +.
export function formula(...parts) {
  const sentences = [[[]]];
  for (const part of parts) {
    if (part === "  ") {
      sentences.push([[]]);
      continue;
    }
    const chunks = sentences.at(-1);
    if ((part === "=" || part === "+") && chunks.at(-1).length) {
      const sign = nameOf(part);
      sign.setAttribute("form", "infix"); // at the start of a line it would get the spacing of a prefix
      chunks.push([sign]);
    } else chunks.at(-1).push(part);
  }
  return element("div", { class: "math", role: "group" }, ...sentences.map((chunks) => element("span", {}, ...chunks.filter((each) => each.length).map(displayed))));
}

function displayed(parts) {
  const node = mathml("math", rowOf(...parts));
  node.setAttribute("displaystyle", "true");
  return node;
}

// a·b + a·b + … + the rest, the largest terms first; and how many there are.
export function dotted(pairs, most = 4) {
  const order = pairs.map(([a, b], i) => [Math.abs(a * b), i]).sort((x, y) => y[0] - x[0]).map(([, i]) => i);
  const parts = [];
  for (const i of order.slice(0, most)) {
    if (parts.length) parts.push("+");
    parts.push(factor(pairs[i][0]), "·", factor(pairs[i][1]));
  }
  const rest = order.slice(most).reduce((total, i) => total + pairs[i][0] * pairs[i][1], 0);
  if (order.length > most) parts.push("+", factor(rest));
  return { parts, order, total: pairs.reduce((total, [a, b]) => total + a * b, 0), left: Math.max(0, order.length - most) };
}
