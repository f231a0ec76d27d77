// Terms with fixed translations, for each pair of languages. They are kept in this browser and sent with every request.

import { byId, element, write } from "./dom.js";
import { keep, recall } from "./store.js";
import { languageName, t, titled } from "./texts.js";

const MOST = 1000; // the server's limit

export class Glossary {
  from = "";
  to = "";

  // `changed()` is called after every edit.
  constructor(changed) {
    this.changed = changed;
    this.all = recall("glossary", {});
    byId("term-add").addEventListener("click", () => this.add());
    byId("terms").addEventListener("input", () => this.edited());
    byId("terms").addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.add();
    });
  }

  // The complete terms of a pair, as the server takes them.
  termsOf(from, to) {
    const rows = this.all[`${from} ${to}`];
    const whole = (Array.isArray(rows) ? rows : []).filter((row) => Array.isArray(row) && row.every((each) => typeof each === "string" && each.trim()));
    return Object.fromEntries(whole.slice(0, MOST).map(([source, target]) => [source.trim(), target.trim()]));
  }

  show(from, to) {
    [this.from, this.to] = [from, to];
    byId("glossary-pair").textContent = from && to ? `${titled(languageName(from))} → ${languageName(to)}` : "";
    byId("terms").replaceChildren(...Object.entries(this.termsOf(from, to)).map((row) => this.row(...row)));
    byId("term-add").disabled = !from || !to;
  }

  row(source, target) {
    const field = (value, code) => {
      const node = element("input", { value, "aria-label": t("term in", languageName(code)), placeholder: languageName(code), autocomplete: "off", spellcheck: "false", maxlength: 200 });
      write(node, code);
      return node;
    };
    const row = element("li", {}, field(source, this.from), element("span", { "aria-hidden": "true" }, "→"), field(target, this.to), element("button", {
      type: "button", "aria-label": t("remove"), title: t("remove"),
      onclick: () => {
        row.remove();
        this.edited();
        byId("term-add").focus();
      },
    }, "✕"));
    return row;
  }

  add() {
    const row = this.row("", "");
    byId("terms").append(row);
    row.querySelector("input").focus();
  }

  edited() {
    const rows = [...byId("terms").children].map((row) => [...row.querySelectorAll("input")].map((each) => each.value));
    this.all = { ...this.all, [`${this.from} ${this.to}`]: rows.filter((row) => row.every((each) => each.trim())) };
    keep("glossary", this.all);
    this.changed();
  }
}
