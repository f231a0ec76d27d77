// Requests to the server. Only the response to the last one counts: earlier ones are aborted.

export class Refusal extends Error {}

// Retries while the server is busy; `waiting` is called before each wait.
export async function ask(address, body, signal, waiting = () => {}) {
  const options = body === undefined ? { signal } : {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal,
  };
  for (let attempt = 0; ; attempt++) {
    let response;
    try {
      response = await fetch(address, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refusal("unreachable");
    }
    if (response.status === 429) {
      waiting();
      await new Promise((resolve) => setTimeout(resolve, Math.min(2000, 150 + 50 * attempt)));
      if (signal?.aborted) throw new DOMException("aborted", "AbortError");
      continue;
    }
    const content = await response.json();
    if (!response.ok) throw new Refusal(content.error ?? String(response.status));
    return content;
  }
}

export function unpacked({ shape, dtype, data }) {
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const size = dtype === "float16" ? 2 : 4, values = new Float32Array(bytes.length / size);
  for (let i = 0; i < values.length; i++) {
    values[i] = size === 2 ? halfNumber(view.getUint16(2 * i, true)) : view.getFloat32(4 * i, true);
  }
  return { shape, values };
}

export function halfNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, rest = bits & 1023;
  if (exponent === 0) return sign * rest * 2 ** -24;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (1 + rest / 1024) * 2 ** (exponent - 15);
}

// Responses of the server, or those stored in a saved page.
export class Source {
  constructor(saved, waiting) {
    this.saved = saved;
    this.waiting = waiting;
  }

  get isSaved() {
    return this.saved !== null;
  }

  info() {
    return this.isSaved ? Promise.resolve(this.saved.info) : ask("/api/explore/info", undefined, undefined, this.waiting);
  }

  trace(query, signal) {
    return this.isSaved ? Promise.resolve(this.saved.trace) : ask("/api/explore/trace", { query }, signal, this.waiting);
  }

  async tensors(query, names, signal) {
    if (!this.isSaved) return (await ask("/api/explore/trace", { query, names, precision: "float32" }, signal, this.waiting)).tensors;
    const found = {};
    for (const name of names) {
      const [whole, row] = name.split(/\[|\]/);
      const packed = this.saved.tensors[name] ?? this.saved.tensors[whole];
      if (packed && row !== undefined && !this.saved.tensors[name]) {
        const { shape, values } = unpacked(packed), width = shape.slice(1).reduce((a, b) => a * b, 1);
        found[name] = { shape: shape.slice(1), values: values.slice(row * width, (Number(row) + 1) * width) };
      } else if (packed) found[name] = packed;
    }
    return found;
  }

  evolve(query, name, signal) {
    return ask("/api/explore/evolve", { query, name }, signal);
  }

  truth(signal) {
    return ask("/api/explore/truth", undefined, signal);
  }
}

// A trace with the arrays that were requested so far.
export class Trace {
  constructor(source, query, summary) {
    Object.assign(this, summary);
    this.source = source;
    this.query = query;
    this.arrays = new Map(Object.entries(summary.attention).map(([name, packed]) => [`${name}~`, unpacked(packed)]));
  }

  has(name) {
    return name in this.names;
  }

  get(name) {
    return this.arrays.get(name);
  }

  // Attention, which the summary already holds.
  quick(name) {
    return this.arrays.get(`${name}~`);
  }

  async load(names, signal) {
    const missing = [...new Set(names)].filter((name) => !this.arrays.has(name));
    if (!missing.length) return;
    const found = await this.source.tensors(this.query, missing, signal);
    for (const [name, packed] of Object.entries(found)) {
      this.arrays.set(name, packed.values ? packed : unpacked(packed));
    }
  }

  side(name) {
    return this.sides.find((each) => each.name === name);
  }
}
