// Earlier translations. They are kept in this browser only.

import { byId, element, write } from "./dom.js";
import { keep, recall } from "./store.js";
import { languageName, titled } from "./texts.js";

const MOST = 50;

// Whether one text is an edit of the other: they share at least half of the longer one.
export function isEdit(one, other) {
  const least = Math.min(one.length, other.length);
  let before = 0, after = 0;
  while (before < least && one[before] === other[before]) before++;
  while (after < least - before && one.at(-1 - after) === other.at(-1 - after)) after++;
  return 2 * (before + after) >= Math.max(one.length, other.length);
}

export class History {
  // `open(entry)` shows an earlier translation again.
  constructor(open) {
    this.open = open;
    this.entries = recall("history", []).filter((each) => ["from", "to", "source", "target"].every((name) => typeof each?.[name] === "string"));
    byId("history-keep").checked = recall("keep history", true);
    byId("history-keep").addEventListener("change", (event) => {
      keep("keep history", event.target.checked);
      if (!event.target.checked) this.replace([]);
    });
    byId("history-clear").addEventListener("click", () => this.replace([]));
    this.draw();
  }

  // Adds a translation. While a text is being typed, its newest version replaces the one before.
  add(entry) {
    if (!byId("history-keep").checked || !entry.source.trim()) return;
    const same = (each) => each.from === entry.from && each.to === entry.to;
    const [newest, ...older] = this.entries;
    const rest = newest && same(newest) && isEdit(newest.source, entry.source) ? older : this.entries;
    this.replace([entry, ...rest.filter((each) => !same(each) || each.source !== entry.source)].slice(0, MOST));
  }

  replace(entries) {
    this.entries = entries;
    keep("history", entries);
    this.draw();
  }

  draw() {
    byId("history-clear").disabled = this.entries.length === 0;
    byId("history-list").replaceChildren(...this.entries.map((entry) => {
      const [source, target] = ["source", "target"].map((side) => element("span", { class: side }, entry[side].slice(0, 200)));
      write(source, entry.from);
      write(target, entry.to);
      const pair = element("small", {}, `${titled(languageName(entry.from))} → ${languageName(entry.to)}`);
      return element("li", {}, element("button", { type: "button", onclick: () => this.open(entry) }, source, target, pair));
    }));
  }
}
