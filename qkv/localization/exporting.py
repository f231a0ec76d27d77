"""Write a memory as TMX or as tab-separated pairs, entry by entry. The file appears when it is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from qkv import __version__
from qkv.checkpoint.outputs import check_new_file
from qkv.corpus.output import new_file
from qkv.data.lines import one_line
from qkv.data.tmx import AS_JSON, CHARACTER, NOT_XML
from qkv.flags import OptionMessageError
from qkv.localization.entry import MemoryMatch

if TYPE_CHECKING:
    from qkv.localization.memory import Memory

# XML readers replace a bare carriage return by a line feed.
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;", '"': "&quot;"}
TO_ESCAPE = re.compile('[&<>\r"]')


def export_entries(
    memory: Memory,
    path: Path,
    *,
    overwrite: bool = False,
    advance: Callable[[int], object] = lambda _count: None,
) -> int:
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in (".tmx", ".tsv"):
        raise OptionMessageError("{path} must end in .tmx or .tsv, also with .gz.", path=path)
    check_new_file("output", path, overwrite=overwrite, inputs=[memory.path])
    lines = tmx_lines(memory) if suffix == ".tmx" else map(tsv_line, memory.entries())
    count = 0
    with new_file(path) as write:
        for line in lines:
            write(line)
            count += 1
            advance(1)
    return count - (2 if suffix == ".tmx" else 0)  # without the first and the last part


def tsv_line(entry: MemoryMatch) -> str:
    return "\t".join(one_line(text.replace("\t", " ")) for text in (entry.source, entry.target)) + "\n"


def tmx_lines(memory: Memory) -> Iterator[str]:
    """The start of the file, its units, and its end."""
    source, target = memory.languages
    if source is None or target is None:
        raise OptionMessageError(
            "{path} does not say its languages, which TMX needs: open it with {source_language} and {target_language}.",
            path=memory.path,
        )
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="qkv" creationtoolversion="{escape(__version__)}" segtype="sentence" o-tmf="qkv" '
        f'adminlang="en" srclang="{escape(source)}" datatype="plaintext"/>\n<body>\n'
    )
    for entry in memory.entries():
        yield unit(entry, source, target)
    yield "</body>\n</tmx>\n"


def unit(entry: MemoryMatch, source: str, target: str) -> str:
    date = re.sub("[-:]", "", entry.date)
    return (
        f'<tu changedate="{escape(date)}">{prop("x-context", entry.context)}{prop("x-origin", entry.origin)}'
        f"{variant(source, entry.source)}{variant(target, entry.target)}</tu>\n"
    )


def prop(kind: str, text: str) -> str:
    if not text:
        return ""
    if NOT_XML.search(text):
        kind, text = kind + AS_JSON, json.dumps(text)
    return f'<prop type="{kind}">{escape(text)}</prop>'


def variant(language: str, text: str) -> str:
    written = NOT_XML.sub(lambda found: f'<ph type="{CHARACTER}{ord(found[0]):02X}"/>', escape(text))
    return f'<tuv xml:lang="{escape(language)}"><seg>{written}</seg></tuv>'


def escape(text: str) -> str:
    return TO_ESCAPE.sub(lambda found: ESCAPES[found[0]], text)
