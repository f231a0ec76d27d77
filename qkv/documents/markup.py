"""Cuts marked-up text into pieces for translation: at block elements, and around elements that stay as they are.

An element inside a sentence that must not be translated becomes a placeholder such as {{0}}. A translation keeps it as a
word of the sentence, and `Piece.restore` puts the element back.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from qkv.text.markup import BLOCKS, Markup, pairs, scan

UNTRANSLATED = frozenset({"code", "kbd", "samp", "var", "tt", "math", "svg", "textarea"})
VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
SAYS_NO = re.compile(
    r"\stranslate\s*=\s*[\"']?no\b|\sclass\s*=\s*(?:\"[^\"]*\bnotranslate\b|'[^']*\bnotranslate\b|notranslate\b)",
    re.IGNORECASE,
)
SPACE_WITH_BREAK = re.compile(r"(?<!\s)\s*\n\s*")  # tried once in each run of white space
TAG_NAME = re.compile(r"<([A-Za-z][^\s<>/\"'=]*)")
MARKUP_START = re.compile(r"<[A-Za-z/!?]")
PLACEHOLDER = re.compile(r"\{\{(\d+)\}\}")


@dataclass(frozen=True, kw_only=True)
class MarkupRules:
    """Which elements end a sentence, and which are not translated. Names are in lower case."""

    splitting: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    html: bool = False
    """Void elements, translate="no", scripts."""
    outline: bool = False
    """Elements without text next to them end a sentence too, as in <chapter><title>…</title></chapter>."""
    inline: frozenset[str] = frozenset()
    """Elements that never end a sentence."""
    joins_lines: bool = True
    """A line break is a space."""


HTML = MarkupRules(splitting=BLOCKS, ignored=UNTRANSLATED, html=True)
XML = MarkupRules(outline=True, joins_lines=False)


@dataclass(frozen=True)
class Piece:
    """A part of a text that is translated as a whole, from character `start` to `end`."""

    text: str
    start: int
    end: int
    kept: Mapping[str, str] = field(default_factory=dict)
    """Placeholders, and the elements that they stand for."""

    def restore(self, translation: str) -> str:
        """Put the elements back."""
        if not self.kept:
            return translation
        return PLACEHOLDER.sub(lambda match: self.kept.get(match[0], match[0]), translation)


def cut_markup(text: str, rules: MarkupRules) -> list[Piece]:
    """The pieces of a text that contain letters outside tags, from left to right."""
    items = [with_kind(item, rules) for item in scan(text)]
    matched = pairs(items)
    kept = kept_ranges(text, items, matched, rules)
    visible = [item for item in items if not inside(item.start, kept)]
    edges = boundaries(text, visible, kept, rules)
    found = []
    for start, end in zip(
        [0, *(edge[1] for edge in edges)], [*(edge[0] for edge in edges), len(text)], strict=True
    ):
        piece = piece_of(text, start, end, kept, rules)
        if piece is not None:
            found.append(piece)
    return found


def with_kind(item: Markup, rules: MarkupRules) -> Markup:
    """Void elements of HTML have no end."""
    void = rules.html and item.kind == "open" and item.name in VOID
    return item._replace(kind="empty") if void else item


def kept_ranges(
    text: str, items: Sequence[Markup], matched: Sequence[tuple[int, int]], rules: MarkupRules
) -> list[tuple[int, int]]:
    """The outermost elements that are not translated, from left to right."""
    ranges = [
        (items[first].start, items[last].end)
        for first, last in matched
        if items[first].name in rules.ignored
        or (rules.html and SAYS_NO.search(text, items[first].start, items[first].end))
    ]
    ranges += [
        (item.start, item.end) for item in items if item.kind == "empty" and item.name in rules.ignored
    ]
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def inside(place: int, ranges: Sequence[tuple[int, int]]) -> bool:
    index = bisect_left(ranges, (place + 1, place + 1)) - 1
    return index >= 0 and place < ranges[index][1]


def boundaries(
    text: str, items: Sequence[Markup], kept: Sequence[tuple[int, int]], rules: MarkupRules
) -> list[tuple[int, int]]:
    """Where sentences end: ranges of tags, from left to right. Tags of a pair around such a range are boundaries too."""
    names = rules.splitting | (outline_names(text, items, kept) if rules.outline else frozenset())
    cuts = [is_boundary(item, names - rules.inline, rules) for item in items]
    before = [0]
    for cut in cuts:
        before.append(before[-1] + cut)
    for first, last in pairs(items):
        if before[last] - before[first + 1]:
            cuts[first] = cuts[last] = True
    ranges = [(item.start, item.end) for item, cut in zip(items, cuts, strict=True) if cut]
    blocks = [each for each in kept if names & {name_at(text, each[0])}]
    return sorted([*ranges, *blocks])


def is_boundary(item: Markup, names: frozenset[str], rules: MarkupRules) -> bool:
    if item.kind in ("declaration", "raw") or (item.kind == "instruction" and item.name == "xml"):
        return True
    return item.kind in ("open", "close", "empty") and item.name in names and item.name not in rules.ignored


def name_at(text: str, place: int) -> str:
    match = TAG_NAME.match(text, place)
    return match[1].lower() if match else ""


def outline_names(text: str, items: Sequence[Markup], kept: Sequence[tuple[int, int]]) -> frozenset[str]:
    """Names of elements that never have text next to them inside their parent."""
    if not items:
        return frozenset()
    has_text: list[bool] = [False]  # of the open elements, beginning with the root
    children: list[set[str]] = [set()]
    inline: set[str] = set()
    names: set[str] = set()
    last = 0
    text = blank(text, kept)
    closers = {last_item for _, last_item in pairs(items)}
    openers = {first for first, _ in pairs(items)}
    for index, item in enumerate(items):
        has_text[-1] |= bool(text[last : item.start].strip())
        last = item.end
        if item.kind in ("empty", "open"):
            children[-1].add(item.name)
            names.add(item.name)
        if index in openers:
            has_text.append(False)
            children.append(set())
        elif index in closers and len(has_text) > 1:
            inside_text, own = has_text.pop(), children.pop()
            inline |= own if inside_text else set()
    has_text[-1] |= bool(text[last:].strip())
    for holds, own in zip(has_text, children, strict=True):
        inline |= own if holds else set()
    return frozenset(names - inline)


def blank(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """The text with spaces in place of these ranges."""
    parts, last = [], 0
    for start, end in ranges:
        parts += [text[last:start], " " * (end - start)]
        last = end
    return "".join([*parts, text[last:]])


def piece_of(
    text: str, start: int, end: int, kept: Sequence[tuple[int, int]], rules: MarkupRules
) -> Piece | None:
    """The text between two boundaries without the white space around it; None if there is nothing to translate."""
    part = text[start:end]
    if not part.strip():
        return None
    start, end = start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
    own = kept[bisect_left(kept, (start, start)) : bisect_left(kept, (end, end))]
    names = unused_placeholders(text[start:end]) if own else iter(())
    parts, last = [], start
    elements: dict[str, str] = {}
    for first, behind in own:
        name = next(names)
        elements[name] = text[first:behind]
        parts += [text[last:first], name]
        last = behind
    written = "".join([*parts, text[last:end]])
    if rules.joins_lines:
        written = SPACE_WITH_BREAK.sub(" ", written)
    if not has_letters(written):
        return None
    return Piece(written, start, end, elements)


def loose_markup(text: str, rules: MarkupRules) -> list[tuple[str, str]]:
    """Tags without their other half, and what browsers read as the beginning of a tag or comment without an end."""
    items = [with_kind(item, rules) for item in scan(text)]
    paired = {place for pair in pairs(items) for place in pair}
    tags = [
        (str(item.kind), item.name)
        for place, item in enumerate(items)
        if item.kind in ("open", "close") and place not in paired
    ]
    starts = MARKUP_START.findall(blank(text, [(item.start, item.end) for item in items]))
    return [*tags, *(("start", start) for start in starts)]


def has_letters(text: str) -> bool:
    """Whether there is a letter outside tags and placeholders."""
    last, letters = 0, False
    for item in scan(text):
        letters = letters or any(map(str.isalpha, text[last : item.start]))
        last = item.end
    return letters or any(map(str.isalpha, text[last:]))


def unused_placeholders(text: str) -> Iterator[str]:
    return (name for number in count() if (name := f"{{{{{number}}}}}") not in text)
