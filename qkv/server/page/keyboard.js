// Keyboard shortcuts: one list for the keys, their descriptions in the dialog, and what they do.

import { byId, element } from "./dom.js";
import { t } from "./texts.js";

// `actions` has a function for each of these names.
const KEYS = [
  ["I", "source text"], ["O", "translation"], ["S", "swap"], ["C", "copy"], ["X", "clear"],
  ["G", "glossary"], ["Y", "history"], ["U", "choose files"], ["K", "shortcuts"],
];
const OTHERS = [[["Ctrl", "Enter"], "translate now"], [["←", "→"], "move between words"], [["Enter"], "show alternatives"], [["Esc"], "close"]];

export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    const key = event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey && KEYS.find(([letter]) => letter === letterOf(event));
    if (key) actions[key[1]]();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) actions["translate now"]();
    else if (event.key === "Escape") return actions.close();
    else return;
    event.preventDefault();
  });
  byId("help-open").addEventListener("click", actions.shortcuts);
}

// The letter of a key: what is printed on it, or its place if the layout writes no Latin letter, as with Alt on a Mac.
function letterOf(event) {
  return /^[a-z]$/i.test(event.key) ? event.key.toUpperCase() : event.code.replace("Key", "");
}

export function drawHelp() {
  const rows = [...KEYS.map(([letter, name]) => [["Alt", letter], name]), ...OTHERS];
  byId("help-keys").replaceChildren(...rows.map(([keys, name]) => {
    const shown = keys.flatMap((key, i) => [i ? " " : "", element("kbd", {}, key)]);
    return element("tr", {}, element("th", { scope: "row" }, shown), element("td", {}, t(name)));
  }));
}
