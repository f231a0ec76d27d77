"""The inline content of Markdown: text and codes, with their places in the file.

markdown-it says what there is, but not where. Its tokens come in the order of the source, so walking along the source with
them finds every place, in linear time.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from qkv.documents.codes import Part
from qkv.documents.markup import UNTRANSLATED, VOID
from qkv.text.markup import ENTITY, Markup, pairs

KEPT, SINGLE = "\ue000", "\ue001"  # stand for what is no text, character by character
MASKED = re.compile(f"{KEPT}+|{SINGLE}+")
SPACE = re.compile(r"[ \t]*\n[ \t]*")
HARD_BREAK = re.compile(r"(?:\\| {2,})\n[ \t]*")
LABEL = re.compile(r"\[(?:[^\[\]\\]|\\.)*+\]", re.DOTALL)
TITLE = r"\s+(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))"
AFTER_DESTINATION = re.compile(rf"(?:{TITLE})?\s*\)", re.DOTALL)
ANGLES = re.compile(r"<(?:[^<>\\\n]|\\.)*+>")
TAG_NAME = re.compile(r"</?([A-Za-z][\w.:-]*)")
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class OffTrackError(Exception):
    """The tokens do not match the source."""


class Found(NamedTuple):
    """A part, and the name of a pair's tag."""

    part: Part
    name: str = ""


class InlineReader:
    """Walks along the content of one block. `places` has the place in the file of each character, and of the end."""

    def __init__(self, content: str, source: str, places: Sequence[int]):
        self.content, self.source, self.places = content, source, places
        self.position = 0
        self.found: list[Found] = []

    def parts(self, tokens: Sequence[Any]) -> list[Part]:
        skipped = 0  # tokens of an autolink
        labels: list[str | None] = []
        for token in tokens:
            if skipped:
                skipped -= 1
            elif token.type == "link_open" and token.markup == "autolink":
                self.code("kept", self.content.index(">", self.position) + 1)
                skipped = 2
            elif token.type == "link_open":
                labels.append((token.meta or {}).get("label"))
                self.expect("[", "open", "a")
            elif token.type == "link_close":
                self.end_of_link(labels.pop())
            else:
                self.read(token)
        return settled(self.found, self.source)

    def read(self, token: Any) -> None:
        if token.type in ("text", "text_special"):
            self.text(token.content)
        elif token.type == "softbreak":
            self.space()
        elif token.type == "hardbreak":
            self.hard_break()
        elif token.type == "html_inline":
            self.tag(token.content)
        elif token.type == "code_inline":
            self.code_span(token.markup)
        elif token.type == "image":
            self.image(token)
        elif token.type.endswith("_open"):
            self.expect(token.markup, "open", token.tag)
        elif token.type.endswith("_close"):
            self.expect(token.markup, "close", token.tag)
        else:
            raise OffTrackError

    def code(self, kind: Any, end: int, name: str = "", content: str | None = None) -> None:
        start, stop = self.places[self.position], self.places[end]
        written = self.source[start:stop] if content is None else content
        self.found.append(Found(Part(kind, written, start, stop), name))
        self.position = end

    def words(self, text: str, start: int) -> None:
        if text:
            self.found.append(Found(Part("text", text, self.places[start], self.places[self.position])))

    def expect(self, written: str, kind: str, name: str) -> None:
        if not self.content.startswith(written, self.position):
            raise OffTrackError
        self.code(kind, self.position + len(written), name)

    def text(self, wanted: str) -> None:
        """Characters, some of them as escapes or entities, and what was masked."""
        start, made, index = self.position, "", 0
        while index < len(wanted):
            masked = MASKED.match(wanted, index)
            if masked:
                self.words(made, start)
                self.code("kept" if masked[0][0] == KEPT else "single", self.position + len(masked[0]))
                start, made, index = self.position, "", masked.end()
                continue
            size, length = self.character(wanted, index)
            made, index = made + wanted[index : index + size], index + size
            self.position += length
        self.words(made, start)

    def character(self, wanted: str, index: int) -> tuple[int, int]:
        """How many characters of the text the next ones of the source stand for."""
        here = self.content[self.position : self.position + 2]
        if here[:1] == "\\" and here[1:] == wanted[index] and wanted[index] in PUNCTUATION:
            return 1, 2
        entity = ENTITY.match(self.content, self.position) if here[:1] == "&" else None
        if entity:
            meant = html.unescape(entity[0])
            if meant != entity[0] and wanted.startswith(meant, index):
                return len(meant), len(entity[0])
        if here[:1] != wanted[index]:
            raise OffTrackError
        return 1, 1

    def space(self) -> None:
        match, start = SPACE.match(self.content, self.position), self.position
        if match is None:
            raise OffTrackError
        self.position = match.end()
        self.words(" ", start)

    def hard_break(self) -> None:
        match = HARD_BREAK.match(self.content, self.position)
        if match is None:
            raise OffTrackError
        self.code("single", match.end())

    def tag(self, written: str) -> None:
        if not self.content.startswith(written, self.position):
            raise OffTrackError
        name = TAG_NAME.match(written)
        lower = name[1].lower() if name else ""
        is_single = name is None or written.endswith("/>") or lower in VOID
        kind = "single" if is_single else "close" if written.startswith("</") else "open"
        self.code(kind, self.position + len(written), lower)

    def code_span(self, markup: str) -> None:
        end = re.compile(rf"(?<!`){re.escape(markup)}(?!`)").search(self.content, self.position + len(markup))
        if not self.content.startswith(markup, self.position) or end is None:
            raise OffTrackError
        self.code("kept", end.end())

    def image(self, token: Any) -> None:
        bracket = self.position + 2 + len(token.content)
        if not self.content.startswith("![", self.position) or self.content[bracket : bracket + 1] != "]":
            raise OffTrackError
        self.code("kept", self.end_of_target(bracket + 1, (token.meta or {}).get("label")))

    def end_of_link(self, label: str | None) -> None:
        """The label of [text] alone is also its target, so it is written out behind a new text."""
        if not self.content.startswith("]", self.position):
            raise OffTrackError
        end = self.end_of_target(self.position + 1, label)
        written = None
        if label is not None and self.content[self.position : end] in ("]", "][]"):
            opening = next(
                each.part for each in reversed(self.found) if each.name == "a" and each.part.kind == "open"
            )
            written = f"][{self.source[opening.end : self.places[self.position]]}]"
        self.code("close", end, "a", written)

    def end_of_target(self, place: int, label: str | None) -> int:
        if label is None:
            return self.end_of_destination(place)
        match = LABEL.match(self.content, place)
        if match and (match[0] == "[]" or normalized(match[0][1:-1]) == normalized(label)):
            return match.end()
        return place

    def end_of_destination(self, place: int) -> int:
        if not self.content.startswith("(", place):
            raise OffTrackError
        place += 1
        while self.content[place : place + 1] in (" ", "\t", "\n"):
            place += 1
        angles = ANGLES.match(self.content, place)
        place = angles.end() if angles else self.end_of_bare_destination(place)
        rest = AFTER_DESTINATION.match(self.content, place)
        if rest is None:
            raise OffTrackError
        return rest.end()

    def end_of_bare_destination(self, place: int) -> int:
        depth = 0
        while place < len(self.content) and not self.content[place].isspace():
            character = self.content[place]
            if character == "\\":
                place += 1
            depth += (character == "(") - (character == ")")
            if depth < 0:
                break
            place += 1
        return place


def normalized(label: str) -> str:
    return " ".join(label.split()).lower().upper()


def settled(found: Sequence[Found], source: str) -> list[Part]:
    """Halves of pairs without the other one become single codes, and elements such as <kbd> kept words."""
    items = [(place, each) for place, each in enumerate(found) if each.part.kind in ("open", "close")]
    tags = [
        Markup("open" if each.part.kind == "open" else "close", place, place + 1, each.name)
        for place, each in items
    ]
    matched = {items[first][0]: items[last][0] for first, last in pairs(tags)}
    in_pairs = {*matched, *matched.values()}
    return list(merged(found, matched, in_pairs, source))


def merged(
    found: Sequence[Found], matched: dict[int, int], in_pairs: set[int], source: str
) -> Iterator[Part]:
    place = 0
    while place < len(found):
        part, name = found[place]
        if name in UNTRANSLATED and place in matched:
            last = found[matched[place]].part
            yield Part("kept", source[part.start : last.end], part.start, last.end)
            place = matched[place]
        elif part.kind in ("open", "close") and place not in in_pairs:
            yield replace(part, kind="single")
        else:
            yield part
        place += 1
