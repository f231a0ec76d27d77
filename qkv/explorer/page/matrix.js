// A matrix as a grid: tokens on both axes, one focused cell, arrow keys to move it. Wide matrices show a part at a time.

import { element, number, shown } from "./dom.js";
import { colourOf, inkOn, paint, partOf, rangeOf } from "./scale.js";

export const WINDOW = 32;

// {title, label, values, shape: [rows, columns], rows: [text], columns: [text] or null, kind: "unit" | "signed",
//  row, column, pick(row, column), hidden(row, column), bounds: columns between two lines, active: is its cell the selected one?}
export function matrix(options) {
  const { values, shape: [rows, columns], kind } = options;
  const range = rangeOf(values, kind);
  const row = Math.min(rows - 1, Math.max(0, options.row ?? 0)), column = Math.min(columns - 1, Math.max(0, options.column ?? 0));
  const first = columns > WINDOW ? Math.min(columns - WINDOW, Math.max(0, Math.floor(column / WINDOW) * WINDOW)) : 0;
  const last = Math.min(columns, first + WINDOW);
  const wide = columns > WINDOW && !options.columns;
  const [from, to] = wide ? [first, last] : [0, columns];
  const figure = element("figure", { class: "matrix" },
    element("figcaption", {},
      element("span", { class: "title" }, options.title),
      element("span", { class: "shape" }, options.shapeText ?? `${rows} × ${columns}`)));
  if (wide) figure.append(overview(options, range, from, to));
  const grid = element("table", {
    role: "grid", class: `grid${to - from <= 14 ? " roomy" : ""}${options.columns ? " worded" : ""}`,
    "aria-label": options.label ?? options.title, "aria-rowcount": rows, "aria-colcount": columns,
    style: { "--columns": to - from, "--rows": rows }, onkeydown: (event) => keyed(event, grid, options),
  });
  grid.append(heading(options, from, to));
  const body = element("tbody");
  for (let r = 0; r < rows; r++) body.append(line(options, r, from, to, range, r === row, column));
  grid.append(body);
  figure.append(element("div", { class: "scroll", tabindex: "-1" }, grid), legend(range, options));
  grid.addEventListener("click", (event) => {
    const cell = event.target.closest("td");
    if (cell) options.pick(Number(cell.dataset.row), Number(cell.dataset.column));
  });
  return figure;
}

function heading(options, from, to) {
  const line = element("tr", { role: "row" }, element("td", { class: "corner" }, options.axes ?? ""));
  for (let c = from; c < to; c++) {
    const text = options.columns ? shown(options.columns[c]) : String(c + 1);
    line.append(element("th", { role: "columnheader", scope: "col", class: c === options.column && options.active !== false ? "lit" : "" },
      element("bdi", {}, options.columns || (c - from) % 4 === 0 ? text : "")));
  }
  return element("thead", {}, line);
}

function line(options, r, from, to, range, isRow, column) {
  const columns = options.shape[1], name = shown(options.rows[r]);
  const node = element("tr", { role: "row" },
    element("th", { role: "rowheader", scope: "row", class: isRow && options.active !== false ? "lit" : "" }, element("bdi", {}, name)));
  for (let c = from; c < to; c++) {
    const value = options.values[r * columns + c], part = partOf(value, range);
    const hidden = options.hidden?.(r, c) ?? false, chosen = isRow && c === column;
    const cell = element("td", {
      role: "gridcell", tabindex: chosen ? "0" : "-1", "aria-selected": chosen && options.active !== false, "data-row": r, "data-column": c,
      "aria-label": `${name}, ${options.columns ? shown(options.columns[c]) : c + 1}: ${hidden ? options.hiddenText ?? "−∞" : number(value)}`,
      class: `${hidden ? "hidden" : ""}${options.bounds && c % options.bounds === 0 && c > from ? " bound" : ""}`,
      "data-value": String(value),
    }, element("span", {}, hidden ? number(value, 0) : value.toFixed(2).replace("-", "−")));
    if (!hidden) {
      cell.style.backgroundColor = colourOf(part);
      cell.style.color = inkOn(part);
    }
    node.append(cell);
  }
  return node;
}

// An overview of a wide matrix, with a frame around the part that is shown below.
function overview(options, range, from, to) {
  const [rows, columns] = options.shape;
  const canvas = element("canvas", { "aria-hidden": "true" });
  paint(canvas, options.values, rows, columns, range);
  const frame = element("span", { class: "frame", style: { left: `${(100 * from) / columns}%`, width: `${(100 * (to - from)) / columns}%` } });
  const slider = element("input", {
    type: "range", min: 0, max: Math.ceil(columns / WINDOW) - 1, step: 1, value: Math.floor(from / WINDOW),
    "aria-label": `${options.title}: ${from + 1}–${to} / ${columns}`,
    oninput: (event) => options.pick(options.row ?? 0, Math.min(columns - 1, Number(event.target.value) * WINDOW)),
  });
  return element("div", { class: "overview" }, canvas, frame, slider);
}

function legend([low, high], options) {
  const bar = element("canvas", { "aria-hidden": "true" });
  paint(bar, Float32Array.from({ length: 64 }, (_, i) => i / 63), 1, 64, [0, 1]);
  return element("div", { class: "legend" },
    element("span", {}, number(low, 2)), bar, element("span", {}, number(high, 2)),
    options.hidden ? element("span", { class: "hatch-key" }, options.hiddenText ?? "") : null,
    options.note ? element("span", { class: "note" }, options.note) : null);
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function keyed(event, grid, options) {
  const cell = event.target.closest("td[data-row]");
  if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
  const [rows, columns] = options.shape, row = Number(cell.dataset.row), column = Number(cell.dataset.column);
  let goal = null;
  if (event.key in MOVES) goal = [row + MOVES[event.key][0], column + MOVES[event.key][1]];
  else if (event.key === "Home") goal = [row, 0];
  else if (event.key === "End") goal = [row, columns - 1];
  else if (event.key === "Enter" || event.key === " ") goal = [row, column];
  if (!goal) return;
  event.preventDefault();
  event.stopPropagation();
  const [r, c] = [Math.min(rows - 1, Math.max(0, goal[0])), Math.min(columns - 1, Math.max(0, goal[1]))];
  options.pick(r, c, true);
}
