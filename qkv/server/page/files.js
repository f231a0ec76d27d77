// Files: chosen or dropped, translated in the background, and offered for download.

import { byId, element } from "./dom.js";
import { languageName, percent, t } from "./texts.js";

const FIRST_WAIT = 200, LONGEST_WAIT = 2000; // milliseconds between two questions about progress

export class Files {
  formats = [];
  largest = Infinity;

  // `request()` gives the server and the languages and terms that are set now.
  constructor(request) {
    this.request = request;
    byId("file-input").addEventListener("change", (event) => {
      this.add(event.target.files);
      event.target.value = "";
    });
    for (const name of ["dragenter", "dragover"]) document.addEventListener(name, (event) => this.dragged(event));
    document.addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) this.dropping(false);
    });
    document.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.dropping(false);
      this.add(event.dataTransfer.files);
    });
  }

  configure(formats, largest) {
    [this.formats, this.largest] = [formats, largest];
    byId("file-input").accept = formats.join(",");
  }

  dragged(event) {
    if (!hasFiles(event) || byId("files").hidden) return;
    event.preventDefault();
    this.dropping(true);
  }

  dropping(active) {
    document.body.classList.toggle("dropping", active);
  }

  add(files) {
    if (byId("files").hidden) return;
    byId("files").open = true;
    for (const file of files) this.translate(file);
  }

  async translate(file) {
    const { server, from, to, glossary } = this.request(), row = new Row(file.name), extension = (file.name.match(/\.[^.]+$/)?.[0] ?? "").toLowerCase();
    if (!this.formats.includes(extension)) return row.fail(t("wrong format", this.formats.join(" ")));
    if (file.size > this.largest) return row.fail(t("too large", Math.floor(this.largest / 1e6)));
    try {
      row.say(t("uploading"));
      const result = await translateFile(server, file, { from, to, glossary }, row);
      row.finish(result, file.name.slice(0, file.name.length - extension.length) + `.${to}` + extension, languageName(to));
    } catch (error) {
      if (error.name !== "AbortError") row.fail(error.message);
    }
  }
}

async function translateFile(server, file, { from, to, glossary }, row) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ target_lang: to, source_lang: from === "auto" ? "" : from, glossary: JSON.stringify(glossary) })) form.append(name, value);
  form.append("file", file);
  const { signal } = row;
  const handle = await (await patiently(() => server.request("v2/document", { method: "POST", body: form, signal }), row)).json();
  const address = `v2/document/${handle.document_id}`, key = { document_key: handle.document_key };
  for (let wait = FIRST_WAIT; ; wait = Math.min(LONGEST_WAIT, 1.5 * wait)) {
    const found = await patiently(() => server.post(address, key, signal), row);
    if (found.status === "error") throw new Error(found.error_message);
    if (found.status === "done") break;
    row.progress(found.progress);
    await pause(wait, signal);
  }
  const headers = { "Content-Type": "application/json" };
  return (await server.request(`${address}/result`, { method: "POST", headers, body: JSON.stringify(key), signal })).blob();
}

// Sends a request again while the server is busy or unreachable.
async function patiently(send, row) {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!error.retry) throw error;
      row.say(error.message);
      await pause(1000 * error.retry, row.signal);
    }
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

class Row {
  controller = new AbortController();

  constructor(name) {
    this.bar = element("progress", { max: 1, "aria-label": name });
    this.status = element("span", { role: "status", class: "hint" });
    this.node = element("li", {}, element("bdi", { class: "name" }, name), this.bar, this.status, element("button", {
      type: "button", "aria-label": t("remove"), title: t("remove"),
      onclick: () => {
        this.controller.abort();
        if (this.address) URL.revokeObjectURL(this.address);
        this.node.remove();
        byId("file-input").focus();
      },
    }, "✕"));
    byId("file-list").prepend(this.node);
  }

  get signal() {
    return this.controller.signal;
  }

  say(message) {
    this.status.textContent = message;
  }

  progress(share) {
    this.bar.value = share;
    this.say(t("translating", percent(share)));
  }

  finish(blob, name, language) {
    this.bar.value = 1;
    this.node.classList.add("done");
    this.address = URL.createObjectURL(blob);
    this.status.replaceChildren(element("a", { href: this.address, download: name }, t("download", language)));
  }

  fail(message) {
    this.bar.hidden = true;
    this.node.classList.add("failed");
    this.say(message);
  }
}

function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
