"""The page as one file that opens from disk, with its style, modules, texts and one trace."""

import base64
import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import write_file
from qkv.explorer.session import Explorer, TraceQuery
from qkv.explorer.wire import array_of, pack
from qkv.tracing.trace import Trace

LANGUAGES = ("en", "es", "ko")
MOST_WEIGHTS = 4_000_000  # numbers; larger weights are left out, and with them the terms of some sums
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (async function|function|const|class) (\w+)", re.MULTILINE)


def write_html(path: Path, explorer: Explorer, query: TraceQuery) -> None:
    write_file(path, single_file(explorer, query).encode("utf-8"))


def single_file(explorer: Explorer, query: TraceQuery) -> str:
    trace, _ = explorer.trace(query)
    page = {file.name: file.read_text(encoding="utf-8") for file in pages().iterdir() if file.is_file()}
    style, script = page["style.css"], bundle_modules(page)
    saved = {
        "info": {**explorer.info(), "checkpoints": [], "truth": False},
        "trace": explorer.summary(query),
        "tensors": all_tensors(trace),
        "texts": {language: json.loads(page[f"{language}.json"]) for language in LANGUAGES},
    }
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # Only an end tag can end a script, so every "<" of the data is escaped.
    data = json.dumps(saved, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="application/json" id="saved">{data}</script>\n<script type="module">{script}</script>'
    )
    html = page["index.html"]
    html = html.replace('<link rel="stylesheet" href="/page/style.css">\n', "")
    return html.replace('<script type="module" src="/page/main.js"></script>', head)


def pages() -> Any:
    return resources.files("qkv.explorer").joinpath("page")


def bundle_modules(page: dict[str, str]) -> str:
    """The modules as one script: each is a function that returns its exports."""
    parts, done = list[str](), set[str]()

    def add(name: str) -> None:
        if name in done:
            return
        done.add(name)
        code = page[f"{name}.js"]
        for _, other in IMPORT.findall(code):
            add(other)
        code = IMPORT.sub(lambda found: f"const {{{found[1]}}} = module_{found[2]};\n", code)
        names = [found[1] for found in EXPORT.findall(code)]
        code = EXPORT.sub(r"\1 \2", code)
        parts.append(f"const module_{name} = (() => {{\n{code}\nreturn {{ {', '.join(names)} }};\n}})();\n")

    add("main")
    return "".join(parts)


def all_tensors(trace: Trace) -> dict[str, Any]:
    names = [name for name in trace.arrays if name != "logits"]
    sizes = {name: each.numel() for name, each in trace.weights.items()}
    if sum(sizes.values()) <= MOST_WEIGHTS:
        names += [
            f"weights/{name}" for name in sizes if name not in (trace.output_weight, *embeddings(trace))
        ]
    found = {name: pack(array_of(trace, name), "float32") for name in names}
    for name in sorted(rows_needed(trace)):
        found[name] = pack(array_of(trace, name), "float32")
    return found


def embeddings(trace: Trace) -> set[str]:
    return {side.embedding for side in trace.sides if side.embedding}


def rows_needed(trace: Trace) -> set[str]:
    """The rows of large vocabulary matrices that this text needs."""
    rows = {
        f"weights/{side.embedding}[{number}]" for side in trace.sides if side.embedding for number in side.ids
    }
    for weight in filter(None, (trace.output_weight, trace.output_bias)):
        for choice in trace.choices:
            rows |= {f"weights/{weight}[{each.id}]" for each in choice.candidates}
    return rows


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}"
