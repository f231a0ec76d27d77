// The translation, word by word. One tab stop: the arrow keys move between words, Enter shows alternatives.

import { byId, element, write } from "./dom.js";
import { percent, t } from "./texts.js";
import { UNSURE, light, mirrorOf, nodesOf, placeAt, placeOf, probabilities, wordsOf } from "./words.js";

export class Output {
  segments = [];

  // `choose(place, node)` is called when a word is clicked or Enter is pressed on it.
  constructor(choose) {
    this.node = byId("output");
    this.mirror = byId("mirror");
    this.source = byId("source");
    this.choose = choose;
    this.listen();
  }

  get text() {
    return this.segments.map((each) => each.target).join("");
  }

  // `terms` come from the glossary: they are what the user wants, whatever the model thinks of them.
  show(segments, language, terms) {
    this.segments = segments;
    const wanted = new Set(terms.flatMap((term) => wordsOf(term).map((word) => word.text)));
    write(this.node, language);
    this.node.replaceChildren(...segments.flatMap((segment, i) => {
      const shares = probabilities(segment);
      return nodesOf(segment.target, (word, number) => this.word(word, i, number, shares[number], wanted.has(word)));
    }));
    this.node.querySelector(".word")?.setAttribute("tabindex", "0");
    this.reflect();
    const confidences = segments.map((each) => each.confidence).filter((each) => each !== null);
    const worst = percent(Math.min(...confidences));
    byId("confidence").textContent = confidences.length ? t(confidences.length > 1 ? "lowest confidence" : "confidence", worst) : "";
    byId("legend").hidden = this.node.querySelector(".unsure") === null;
    byId("copy").disabled = this.text === "";
  }

  word(text, segment, number, share, isTerm) {
    const unsure = share !== null && share < UNSURE && !isTerm;
    return element("span", {
      class: unsure ? "word unsure" : "word", role: "button", tabindex: "-1", "aria-haspopup": "menu", "data-segment": segment, "data-word": number, "data-term": isTerm,
      title: share === null ? undefined : t("probability", percent(share)), "aria-description": unsure ? t("unsure") : undefined,
    }, text);
  }

  // Draws the text under the source field anew, after typing or after a translation.
  reflect() {
    this.mirror.replaceChildren(...mirrorOf(this.source.value, this.segments));
  }

  light(place) {
    light(this.mirror, this.node, this.segments, place);
  }

  focus(segment, word) {
    const node = this.node.querySelector(`[data-segment="${segment}"][data-word="${word}"]`) ?? this.node.querySelector(".word");
    (node ?? this.node).focus();
  }

  listen() {
    const { node, source } = this;
    node.addEventListener("pointerover", (event) => this.light(placeOf(event.target, 1)));
    node.addEventListener("pointerleave", () => this.light(placeOf(document.activeElement, 1)));
    node.addEventListener("focusin", (event) => {
      node.querySelector('.word[tabindex="0"]')?.setAttribute("tabindex", "-1");
      event.target.closest(".word")?.setAttribute("tabindex", "0");
      this.light(placeOf(event.target, 1));
    });
    node.addEventListener("focusout", () => this.light(null));
    node.addEventListener("click", (event) => this.chosen(event));
    node.addEventListener("keydown", (event) => this.keyed(event));
    source.addEventListener("pointermove", (event) => {
      const under = document.elementsFromPoint(event.clientX, event.clientY).find((each) => each.parentNode === this.mirror);
      this.light(placeOf(under, 0));
    });
    source.addEventListener("pointerleave", () => this.light(null));
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === source) this.light(this.mirror.firstElementChild ? placeAt(source.selectionStart, this.segments) : null);
    });
  }

  chosen(event) {
    const node = event.target.closest(".word");
    if (node && String(getSelection()) === "") this.choose(placeOf(node, 1), node); // a selection is for copying
  }

  keyed(event) {
    const words = [...this.node.querySelectorAll(".word")], here = words.indexOf(document.activeElement);
    if (here < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = this.node.dir === "rtl" ? -1 : 1;
    const next = { ArrowRight: here + step, ArrowLeft: here - step, ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: words.length - 1 }[event.key];
    if (next !== undefined) words[Math.min(words.length - 1, Math.max(0, next))].focus();
    else if (event.key === "Enter" || event.key === " ") this.choose(placeOf(words[here], 1), words[here]);
    else return;
    event.preventDefault();
  }
}
