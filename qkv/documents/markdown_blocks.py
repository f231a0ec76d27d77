"""The blocks of a Markdown file, from markdown-it, and where their inline content stands in the file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from qkv.documents.codes import Part
from qkv.documents.markdown_inline import InlineReader, OffTrackError
from qkv.errors import MissingExtraError

LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
MODULE = re.compile(r"(?:import|export)\s")


@dataclass(frozen=True)
class Block:
    """A paragraph, a heading or a cell of a table, or a block of HTML without parts."""

    kind: str
    start: int
    end: int
    parts: tuple[Part, ...] = ()


@cache
def parser(*, mdx: bool) -> Any:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise MissingExtraError("a Markdown file", package="markdown-it-py", extra="documents") from None
    made = MarkdownIt("commonmark", {"store_labels": True}).enable(["table", "strikethrough"])
    return made.disable("code") if mdx else made


def blocks_of(masked: str, source: str, *, mdx: bool) -> Iterator[Block]:
    """The blocks with text, in the order of the file. `masked` has the same length as the source."""
    lines = [match.span(1) for match in LINE.finditer(masked)]
    tokens = parser(mdx=mdx).parse(masked)
    row: tuple[int, int] = (0, 0)
    cell_end = 0
    for index, token in enumerate(tokens):
        if token.type == "tr_open" and token.map:
            row, cell_end = lines[token.map[0]], lines[token.map[0]][0]
        elif token.type == "html_block" and token.map:
            yield Block("html", lines[token.map[0]][0], lines[token.map[1] - 1][1])
        elif token.type == "inline" and token.content.strip():
            opening = tokens[index - 1].type
            if mdx and MODULE.match(token.content):
                continue
            if opening in ("th_open", "td_open"):
                placed = cell_places(token.content, masked, cell_end, row[1])
                cell_end = placed[1][-1] if placed else cell_end
            else:
                placed = paragraph_places(
                    token.content, masked, [lines[each] for each in range(*(token.map or (0, 0)))]
                )
            if placed is not None:
                yield from block_of(opening, token, source, *placed)


def block_of(opening: str, token: Any, source: str, content: str, places: Sequence[int]) -> Iterator[Block]:
    try:
        parts = InlineReader(content, source, places).parts(token.children or ())
    except (OffTrackError, ValueError, IndexError, StopIteration):
        return  # left as it is
    kind = (
        "cell"
        if opening in ("th_open", "td_open")
        else "heading"
        if opening == "heading_open"
        else "paragraph"
    )
    yield Block(kind, places[0], places[-1], tuple(parts))


Placed = tuple[str, list[int]]  # a content, and the place of each character and of the end


def paragraph_places(content: str, text: str, lines: Sequence[tuple[int, int]]) -> Placed | None:
    """Each line of the content stands at the end of a line of the file, behind quote signs, indentation and the like."""
    made = content.split("\n")
    if len(made) > len(lines):
        return None
    found: list[int] = []
    for number, (line, (start, end)) in enumerate(zip(made, lines, strict=False)):
        words = line.strip()
        raw = text[start:end].rstrip()
        place = start + len(raw) - len(words) if raw.endswith(words) else text.find(words, start, end)
        if place < start:
            return None
        lead = len(line) - len(line.lstrip())
        found += [max(start, place - lead + each) for each in range(lead)]
        found += [min(place + each, end) for each in range(len(line) - lead)]
        if number < len(made) - 1:
            found.append(end)
    words_end = place + len(words)
    return content, [*found, words_end]


def cell_places(content: str, text: str, start: int, end: int) -> Placed | None:
    """A cell stands behind the one before it. Its parser takes the backslash from an escaped bar."""
    for written in dict.fromkeys((content, content.replace("|", "\\|"))):
        place = text.find(written, start, end)
        if place >= 0 and written == content:
            return content, list(range(place, place + len(content) + 1))
        if place >= 0:
            places, last = [], place
            for character in content:
                places.append(last)
                last += 2 if character == "|" else 1
            return content, [*places, last]
    return None
