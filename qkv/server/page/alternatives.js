// A menu of other ways to continue a translation at a word.

import { byId, element, write } from "./dom.js";
import { percent, t } from "./texts.js";
import { wordsOf } from "./words.js";

const COUNT = 8;

export class Alternatives {
  // `ask(fields, signal)` sends the request, `take(place, alternative)` uses one.
  constructor(ask, take) {
    this.menu = byId("alternatives");
    this.ask = ask;
    this.take = take;
    this.menu.addEventListener("keydown", (event) => this.keyed(event));
    document.addEventListener("pointerdown", (event) => {
      if (!this.menu.contains(event.target)) this.close();
    });
  }

  async open(place, node, segment, language) {
    this.close();
    this.opener = node;
    const controller = this.controller = new AbortController();
    node.setAttribute("aria-expanded", "true");
    this.menu.setAttribute("aria-label", t("alternatives for", node.textContent));
    const hint = (text) => this.show([element("p", { class: "hint" }, text)]);
    if (node.dataset.term !== undefined) return hint(t("from the glossary"));
    hint(t("searching"));
    const target = segment.target.trim(), words = wordsOf(target);
    const prefix = target.slice(0, words[place.word].start).trimEnd();
    try {
      const found = await this.ask({ q: segment.source.trim(), prefix, count: COUNT, words: true, alignments: true }, controller.signal);
      const others = found.alternatives.filter((each) => each.text !== target);
      if (controller.signal.aborted) return;
      if (!others.length) return hint(t("no alternatives"));
      this.show(others.map((each) => this.item(each, prefix, place, language)));
      this.menu.querySelector("button")?.focus();
    } catch (error) {
      if (error.name !== "AbortError") hint(error.message);
    }
  }

  item(alternative, prefix, place, language) {
    const rest = alternative.text.startsWith(prefix) ? alternative.text.slice(prefix.length).trim() : alternative.text;
    const first = wordsOf(rest)[0]?.text ?? "";
    const sure = alternative.confidence === null ? null : element("small", {}, percent(alternative.confidence));
    const text = element("span", {}, element("b", {}, first), rest.slice(first.length));
    write(text, language);
    return element("button", {
      type: "button", role: "menuitem", tabindex: "-1",
      onclick: () => {
        this.close();
        this.take(place, alternative);
      },
    }, text, sure);
  }

  show(children) {
    const { menu, opener } = this, pane = menu.parentElement.getBoundingClientRect();
    menu.replaceChildren(...children);
    menu.hidden = false;
    const word = opener.getBoundingClientRect();
    const left = Math.max(8, Math.min(word.left - pane.left, pane.width - menu.offsetWidth - 8));
    menu.style.left = `${left}px`;
    menu.style.top = `${word.bottom - pane.top + 4}px`;
    menu.scrollIntoView({ block: "nearest" });
  }

  close(refocus = false) {
    this.controller?.abort();
    this.opener?.removeAttribute("aria-expanded");
    this.menu.hidden = true;
    this.menu.replaceChildren();
    if (refocus) this.opener?.focus();
  }

  keyed(event) {
    const items = [...this.menu.querySelectorAll("button")], here = items.indexOf(document.activeElement), count = items.length;
    const next = { ArrowDown: (here + 1) % count, ArrowUp: (here + count - 1) % count, Home: 0, End: count - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") this.close(true);
    else if (next !== undefined) items[next]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
