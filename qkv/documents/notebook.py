"""Jupyter notebooks (.ipynb, format 4): the Markdown cells. Code, outputs and metadata stay as they are."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from qkv.documents.document import Document, NewTexts, Segment
from qkv.documents.encodings import Decoded, decode
from qkv.documents.json import Style
from qkv.documents.json_scanner import JsonString, strings_of
from qkv.documents.markdown import missing_texts, segments_of
from qkv.documents.unicode_escapes import SURROGATE
from qkv.errors import DataError

CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
WIDE = "utf-32-le"
"""The encoding in which a cell is read as Markdown: every character has four bytes, so places are easy to convert."""


def read_notebook(content: bytes, target: str | None = None) -> Document:
    decoded = decode(content)
    segments = list(cell_segments(decoded))

    def compare(written: bytes, new: NewTexts) -> list[range]:
        return missing_texts(segments, new, list(cell_segments(decode(written))))

    return Document(
        content=content,
        segments=tuple(segments),
        media_type="application/x-ipynb+json",
        encoding=decoded.encoding,
        compare=compare,
    )


def cell_segments(decoded: Decoded) -> Iterator[Segment]:
    strings = list(strings_of(decoded.text))
    notebook = json.loads(decoded.text, parse_int=str)  # an int may have too many digits
    if not isinstance(notebook, dict) or notebook.get("nbformat") != "4":
        raise DataError(
            "only notebooks of format 4 can be translated: save it with a current version of Jupyter."
        )
    cells = [each for each in strings if each.path[:1] == ("cells",) and len(each.path) > 2]
    style = Style.of(decoded.text)
    found = [
        segment
        for number, parts in groupby(cells, lambda each: each.path[1])
        for segment in Cell.of(decoded, style, number, list(parts)).segments()
    ]
    offsets = decoded.offsets(place for each in found for place in (each.start, each.end))
    for each in found:
        yield replace(each, start=offsets[each.start], end=offsets[each.end])


@dataclass(frozen=True)
class Cell:
    """The strings of its source, which are its lines, or one string with all of them. None if it is not Markdown."""

    decoded: Decoded
    style: Style
    number: str | int
    lines: Sequence[JsonString]

    @classmethod
    def of(cls, decoded: Decoded, style: Style, number: str | int, strings: Sequence[JsonString]) -> "Cell":
        is_markdown = any(each.path[2:] == ("cell_type",) and each.text == "markdown" for each in strings)
        lines = [each for each in strings if each.path[2] == "source" and len(each.path) <= 4]
        return cls(decoded, style, number, lines if is_markdown else ())

    def segments(self) -> Iterator[Segment]:
        """Their places are characters of the file."""
        text = "".join(line.text for line in self.lines)
        if SURROGATE.search(text):
            return
        places = [
            line.start + 1 + match.start()
            for line in self.lines
            for match in CHARACTER.finditer(self.decoded.text[line.start + 1 : line.end - 1])
        ]
        for each in segments_of(Decoded(text, WIDE, 0), mdx=False):
            last = places[each.end // 4 - 1]
            character = CHARACTER.match(self.decoded.text, last)
            yield replace(
                each,
                start=places[each.start // 4],
                end=character.end() if character else last,
                encode=partial(self.encode, each),
                key=f"cells.{self.number}",
            )

    def encode(self, segment: Segment, text: str) -> bytes:
        """Inside the quotes of a string. A line break ends it if the cell has a string for each line."""
        written = segment.encode(text).decode(WIDE)
        between = "\\n"
        if len(self.lines) > 1:
            between += f'"{self.decoded.text[self.lines[0].end : self.lines[1].start]}"'
        return self.decoded.encode(
            between.join(self.style.quoted(line)[1:-1] for line in written.split("\n"))
        )
