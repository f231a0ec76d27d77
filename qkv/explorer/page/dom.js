// Creates elements. Text stays text: nothing is parsed as HTML.

export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    const isState = name.startsWith("aria-") && typeof value === "boolean";
    if (value === undefined || value === null || (value === false && !isState)) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) node.style.setProperty(key, each);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true && !isState ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return node;
}

export function byId(name) {
  return document.getElementById(name);
}

// Scrolls the current item to the centre of a list that overflows.
export function centre(list) {
  const node = list.querySelector("[aria-current]");
  if (node) list.scrollLeft += node.getBoundingClientRect().left - list.getBoundingClientRect().left - (list.clientWidth - node.offsetWidth) / 2;
}

// Text of a model or a user, isolated so that its writing direction does not affect the text around it.
export function isolated(text, language) {
  return element("bdi", { lang: language }, shown(text));
}

// Tokens may be a space or contain control characters: those are made visible.
export function shown(text) {
  const visible = text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "·");
  return visible.trim() === "" ? "␣" : visible;
}

export function number(value, digits = 3) {
  if (value === -Infinity) return "−∞";
  if (!Number.isFinite(value)) return String(value);
  const small = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
  const text = small ? value.toExponential(1) : value.toFixed(digits);
  return text.replace("-", "−").replace("e−", "e−");
}
