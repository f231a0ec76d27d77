// The two languages: which are served, which are chosen, and which was detected.

import { byId, element, write } from "./dom.js";
import { keep } from "./store.js";
import { languageName, t, titled } from "./texts.js";

const SURE = 50; // percent: below this the detected language is a guess

export class Languages {
  served = [];
  from = "auto";
  to = "";
  detected = null; // {language, confidence}

  // The source language, also if it was detected. Before there is a text, the first one that fits the target.
  get source() {
    if (this.from !== "auto") return this.from;
    return this.detected?.language ?? this.sources().find((code) => this.targetsOf(code).includes(this.to)) ?? "";
  }

  get canSwap() {
    return this.targetsOf(this.to).includes(this.source);
  }

  nameOf(code) {
    return languageName(code, this.served.find((each) => each.code === code)?.name);
  }

  targetsOf(code) {
    return (this.served.find((each) => each.code === code)?.targets ?? []).filter((each) => each !== code);
  }

  sources() {
    return this.served.map((each) => each.code).filter((code) => this.targetsOf(code).length);
  }

  targets() {
    if (this.from !== "auto") return this.targetsOf(this.from);
    return this.served.map((each) => each.code).filter((code) => this.sources().some((source) => this.targetsOf(source).includes(code)));
  }

  // Choose languages. Those that are not served become others.
  choose(from, to) {
    this.from = this.sources().includes(from) ? from : "auto";
    this.to = this.targets().includes(to) ? to : this.targets()[0] ?? "";
    if (this.from !== "auto") this.detected = null;
    keep("from", this.from);
    keep("to", this.to);
    this.draw();
  }

  draw() {
    const option = (code) => [code, titled(this.nameOf(code))];
    fill(byId("from"), [["auto", titled(this.detectedText())], ...this.sources().map(option)], this.from);
    fill(byId("to"), this.targets().map(option), this.to);
    const swap = byId("swap"), back = [this.to, this.source].map((code) => this.nameOf(code));
    swap.disabled = !this.canSwap;
    swap.title = this.canSwap ? t("swap") : t("no way back", ...back);
    write(byId("source"), this.from);
    write(byId("mirror"), this.from);
    write(byId("output"), this.to);
  }

  detectedText() {
    if (!this.detected) return t("detect language");
    return t(this.detected.confidence < SURE ? "maybe" : "detected", titled(this.nameOf(this.detected.language)));
  }
}

// Replaces only options that differ: an open list stays open while a text is translated.
function fill(select, options, chosen) {
  for (const [i, [value, text]] of options.entries()) {
    const old = select.options[i];
    if (!old) select.append(element("option", { value }, text));
    else if (old.value !== value || old.text !== text) [old.value, old.textContent] = [value, text];
  }
  select.options.length = options.length;
  select.value = chosen;
}
