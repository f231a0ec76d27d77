// Keyboard shortcuts: one list for the keys, their descriptions in the dialog, and what they do.

import { byId, element } from "./dom.js";
import { t } from "./texts.js";

// `actions` has a function for each of these names.
const KEYS = [
  ["KeyI", "I", "source text"], ["KeyO", "O", "translation"], ["KeyS", "S", "swap"], ["KeyC", "C", "copy"], ["KeyX", "X", "clear"],
  ["KeyG", "G", "glossary"], ["KeyY", "Y", "history"], ["KeyU", "U", "choose files"], ["KeyK", "K", "shortcuts"],
];
const OTHERS = [[["Ctrl", "Enter"], "translate now"], [["←", "→"], "move between words"], [["Enter"], "show alternatives"], [["Esc"], "close"]];

export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    const key = event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey && KEYS.find(([code]) => code === event.code);
    if (key) actions[key[2]]();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) actions["translate now"]();
    else if (event.key === "Escape") return actions.close();
    else return;
    event.preventDefault();
  });
  byId("help-open").addEventListener("click", actions.shortcuts);
}

export function drawHelp() {
  const rows = [...KEYS.map(([, letter, name]) => [["Alt", letter], name]), ...OTHERS];
  byId("help-keys").replaceChildren(...rows.map(([keys, name]) => {
    const shown = keys.flatMap((key, i) => [i ? " " : "", element("kbd", {}, key)]);
    return element("tr", {}, element("th", { scope: "row" }, shown), element("td", {}, t(name)));
  }));
}
