// Creates elements. Text stays text: nothing is parsed as HTML.

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    const isState = name.startsWith("aria-") && typeof value === "boolean";
    if (value === undefined || value === null || (value === false && !isState)) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true && !isState ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function byId(name) {
  return document.getElementById(name);
}

const RIGHT_TO_LEFT = new Set(["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]);

// The writing direction of a language; "auto" if the language is unknown.
export function direction(code) {
  if (!code || code === "auto") return "auto";
  return RIGHT_TO_LEFT.has(code.split("-")[0]) ? "rtl" : "ltr";
}

// Directions and languages of an element that shows a text.
export function write(node, code) {
  node.dir = direction(code);
  node.lang = code && code !== "auto" ? code : "";
}
