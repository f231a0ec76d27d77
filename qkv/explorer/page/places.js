// The arrays and tokens of a position in the model. A site is an attention sublayer: of one side to itself or to the other.

export function sitesOf(trace) {
  const found = [];
  for (const side of trace.sides) {
    found.push({ id: side.name, side, queries: side, keys: side, sublayer: "attention" });
  }
  const last = trace.sides.at(-1);
  if (trace.has(`${last.name}.0.cross_attention.weights`)) {
    found.push({ id: "cross", side: last, queries: last, keys: trace.sides[0], sublayer: "cross_attention" });
  }
  return found;
}

// The sites that have attention: LSTMs and decoders with a recurrent cell have no self-attention.
export const hasAttention = (trace, site) => trace.has(`${site.side.name}.0.${site.sublayer}.weights`);
export const attentionSites = (trace) => sitesOf(trace).filter((site) => hasAttention(trace, site));

export function siteOf(trace, cursor, allowed) {
  const sites = sitesOf(trace).filter((site) => !allowed || allowed.includes(site.id));
  return sites.find((site) => site.id === cursor.side) ?? sites[0];
}

export const prefixOf = (site, layer) => `${site.side.name}.${layer}.${site.sublayer}`;
export const weightsOf = (side, layer, sublayer) => `weights/${side.weights}.blocks.${layer}.${sublayer}`;
export const attentionOf = (site, layer) => (site.side.attention ? `weights/${site.side.attention}` : weightsOf(site.side, layer, `${site.sublayer}.sublayer`));
export const isPre = (side) => side.stack.norm === "pre";

// The input of a sublayer before any norm: the result of the previous one.
export function streamInto(side, layer, sublayer, trace) {
  const order = ["attention", "cell", "cross_attention", "feed_forward"].filter((each) => trace.has(`${side.name}.${layer}.${each}.result`));
  const place = order.indexOf(sublayer);
  if (place > 0) return `${side.name}.${layer}.${order[place - 1]}.result`;
  return layer > 0 ? `${side.name}.${layer - 1}.feed_forward.result` : `${side.name}.embedded`;
}

// The input that the sublayer computes with: with pre-norm, the normed stream.
export function inputOf(side, layer, sublayer, trace) {
  if (trace.has(`${side.name}.${layer}.states`)) return `${side.name}.${layer}.states`;
  return isPre(side) ? `${side.name}.${layer}.${sublayer}.normed` : streamInto(side, layer, sublayer, trace);
}

// The number of LSTMs of a side: 0 if it has blocks.
export function lstmsOf(trace, side) {
  let count = 0;
  while (trace.has(`${side.name}.${count}.states`)) count++;
  return count;
}

// Row labels of a side: the input token, and the output token after it.
export function rowNames(side) {
  return side.output.length ? side.tokens.map((piece, i) => `${piece} → ${side.output[i] ?? ""}`) : side.tokens;
}

export function headOf({ shape, values }, head) {
  const [, rows, columns] = shape;
  return { shape: [rows, columns], values: values.subarray(head * rows * columns, (head + 1) * rows * columns) };
}

export function rowAt({ shape, values }, row) {
  const width = shape.at(-1);
  return values.subarray(row * width, (row + 1) * width);
}

export const at = ({ shape, values }, row, column) => values[row * shape.at(-1) + column];

// Concatenated heads: (H, T, K) as (T, H·K).
export function concatenated({ shape: [heads, rows, width], values }) {
  const joined = new Float32Array(heads * rows * width);
  for (let h = 0; h < heads; h++) for (let r = 0; r < rows; r++) {
    joined.set(values.subarray((h * rows + r) * width, (h * rows + r + 1) * width), r * heads * width + h * width);
  }
  return { shape: [rows, heads * width], values: joined };
}

export function sinusoid(rows, width, layout) {
  const values = new Float32Array(rows * width);
  for (let r = 0; r < rows; r++) for (let c = 0; c < width; c++) {
    const even = Math.ceil(width / 2);
    const column = layout === "halves" ? (c < even ? 2 * c : 2 * (c - even) + 1) : c;
    const angle = r / 10000 ** ((2 * Math.floor(column / 2)) / width);
    values[r * width + c] = column % 2 ? Math.cos(angle) : Math.sin(angle);
  }
  return { shape: [rows, width], values };
}

export function statisticsOf(row) {
  const mean = row.reduce((a, b) => a + b, 0) / row.length;
  return { mean, variance: row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length };
}

export function cosine(one, other) {
  let both = 0, first = 0, second = 0;
  for (let i = 0; i < one.length; i++) {
    both += one[i] * other[i];
    first += one[i] ** 2;
    second += other[i] ** 2;
  }
  return both / Math.sqrt(first * second || 1);
}
