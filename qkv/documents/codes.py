"""Inline codes: the markup inside a text, as short tags that a translation keeps.

A pair around words becomes <g1>…</g1>, and a single code, such as a line break, <x1/>. What stands for a word of the
sentence, such as a code span, an image or a field, becomes a placeholder such as {{1}}. Every reader with markup uses these
names, so that texts with equal words and equal codes are equal in all formats.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, count
from typing import Literal, NamedTuple

Kind = Literal["text", "open", "close", "single", "kept"]

NAME = re.compile(r"</?g\d{1,9}>|<x\d{1,9}/>|\{\{\d{1,9}\}\}")


@dataclass(frozen=True)
class Part:
    """A part of a paragraph as its reader finds it: text, or a code from `start` to `end` in the file."""

    kind: Kind
    content: str
    """The characters of a text; otherwise what the file has."""
    start: int
    end: int


class Piece(NamedTuple):
    """Text as a person reads it, or the name of a code."""

    text: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Codes:
    """The names in a text, and what they stand for.

    Any translation can be divided into pieces with each code exactly once and pairs nested: codes that were lost, doubled
    or crossed are repaired.
    """

    originals: Mapping[str, str]
    formatting: frozenset[str] = frozenset()
    """The opening names of pairs that a text may lose without damage to the file, such as bold."""

    def pieces(self, text: str) -> list[Piece]:
        return repaired(list(pieces_of(text, self.originals)), self)

    def restore(self, text: str, escape: Callable[[str], str]) -> str:
        """The text as the file has it, with `escape` for what is between the codes."""
        return "".join(self.originals[name] if name else escape(words) for words, name in self.pieces(text))

    def repair(self, text: str) -> str:
        """The same translation with every code in its place."""
        return "".join(name or escaped(words) for words, name in self.pieces(text))

    def are_kept_by(self, text: str) -> bool:
        """Whether a translation has each code once, and pairs nested."""
        found = [name for _, name in pieces_of(text, self.originals) if name]
        return sorted(found) == sorted(self.originals) and found == [
            name for _, name in self.pieces(text) if name
        ]

    def essence(self, text: str) -> str:
        """What a reader finds again: no names, no formatting, which may be divided in other ways, and no codes at the edges."""
        dropped = self.formatting | {closing(name) for name in self.formatting}
        pieces = inner_pieces([piece for piece in self.pieces(text) if piece.name not in dropped])
        return "".join(self.originals[name] if name else words for words, name in pieces)


@dataclass(frozen=True, kw_only=True)
class Coded:
    """A text with codes, and its place without what surrounds it."""

    text: str
    start: int
    end: int
    codes: Codes | None
    """None if there are none: then the text is plain, and nothing in it is escaped."""
    parts: Sequence[Part] = field(default=(), repr=False)
    names: Sequence[str] = field(default=(), repr=False)
    """The name of each part, empty for text."""

    @property
    def has_letters(self) -> bool:
        return any(part.kind == "text" and any(map(str.isalpha, part.content)) for part in self.parts)


def coded(parts: Sequence[Part], formatting: Callable[[Part], bool] = lambda part: False) -> Coded | None:
    """The text of a paragraph. Codes and white space around all of it stay outside; None if nothing is left.

    `formatting` tells which opening codes may be lost without damage.
    """
    kept = trimmed(joined_empty_pairs(matched(parts)))
    if not kept:
        return None
    start, end = kept[0].start, kept[-1].end
    if all(part.kind == "text" for part in kept):
        text = "".join(part.content for part in kept)
        return Coded(text=text, start=start, end=end, codes=None, parts=kept, names=[""] * len(kept))
    names = names_of(kept)
    both = list(zip(kept, names, strict=True))
    codes = Codes(
        originals={name: part.content for part, name in both if name},
        formatting=frozenset(name for part, name in both if part.kind == "open" and formatting(part)),
    )
    text = "".join(name or escaped(part.content) for part, name in both)
    return Coded(text=text, start=start, end=end, codes=codes, parts=kept, names=names)


# Names -----------------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """Characters that could be read as a code or as an escape."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&amp;", "&")


def closing(name: str) -> str:
    return f"</{name[1:]}"


def names_of(parts: Sequence[Part]) -> list[str]:
    """The name of each part; pairs are matched and nested."""
    pairs, singles = count(1), count(1)
    words = placeholders("".join(part.content for part in parts if part.kind == "text"))
    open_names: list[str] = []
    found = []
    for part in parts:
        if part.kind == "text":
            found.append("")
        elif part.kind == "open":
            open_names.append(f"<g{next(pairs)}>")
            found.append(open_names[-1])
        elif part.kind == "close":
            found.append(closing(open_names.pop()))
        else:
            found.append(next(words) if part.kind == "kept" else f"<x{next(singles)}/>")
    return found


def placeholders(text: str) -> Iterator[str]:
    """Those that the text does not contain."""
    return (name for number in count(1) if (name := f"{{{{{number}}}}}") not in text)


# Parts -----------------------------------------------------------------------------------------------


def matched(parts: Sequence[Part]) -> list[Part]:
    """Opening and closing codes without their other half become single ones."""
    found = list(parts)
    open_places: list[int] = []
    for place, part in enumerate(parts):
        if part.kind == "open":
            open_places.append(place)
        elif part.kind == "close" and open_places:
            open_places.pop()
        elif part.kind == "close":
            found[place] = replace(part, kind="single")
    for place in open_places:
        found[place] = replace(found[place], kind="single")
    return found


def joined_empty_pairs(parts: Sequence[Part]) -> list[Part]:
    """Pairs without any text, such as an anchor, become one code."""
    found: list[Part] = []
    open_places: list[tuple[int, bool]] = []  # and whether there are words inside
    for part in parts:
        found.append(part)
        if part.kind == "open":
            open_places.append((len(found) - 1, False))
        elif open_places and part.kind in ("text", "kept"):
            open_places[-1] = open_places[-1][0], True
        elif part.kind == "close":
            place, words = open_places.pop()
            if words and open_places:
                open_places[-1] = open_places[-1][0], True
            elif not words:
                content = "".join(each.content for each in found[place:])
                found[place:] = [Part("single", content, found[place].start, part.end)]
    return found


def trimmed(parts: Sequence[Part]) -> list[Part]:
    """Without blank text, single codes and pairs around everything."""
    closers = closer_places(parts)
    first, last = 0, len(parts)
    while first < last:
        if is_edge(parts[first]):
            first += 1
        elif is_edge(parts[last - 1]):
            last -= 1
        elif closers.get(first) == last - 1:
            first, last = first + 1, last - 1
        else:
            break
    return list(parts[first:last])


def is_edge(part: Part) -> bool:
    return part.kind == "single" or (part.kind == "text" and not part.content.strip())


def closer_places(parts: Sequence[Part]) -> dict[int, int]:
    found: dict[int, int] = {}
    open_places: list[int] = []
    for place, part in enumerate(parts):
        if part.kind == "open":
            open_places.append(place)
        elif part.kind == "close":
            found[open_places.pop()] = place
    return found


# Translations ----------------------------------------------------------------------------------------


def pieces_of(text: str, names: Mapping[str, str]) -> Iterator[Piece]:
    """Text and codes from left to right. Anything that is not a known name is text."""
    last = 0
    for match in NAME.finditer(text):
        if match[0] in names:
            if match.start() > last:
                yield Piece(unescaped(text[last : match.start()]))
            yield Piece("", match[0])
            last = match.end()
    if last < len(text):
        yield Piece(unescaped(text[last:]))


def repaired(pieces: Sequence[Piece], codes: Codes) -> list[Piece]:
    """Each code once, and pairs nested. What was lost comes to the end, except formatting."""
    kept = without_empty_formatting(without_broken_pairs(without_doubles(pieces)), codes)
    present = {piece.name for piece in kept}
    lost = [name for name in codes.originals if name not in present]
    dropped = codes.formatting | {closing(name) for name in codes.formatting}
    return [*kept, *(Piece("", name) for name in in_pairs(lost) if name not in dropped)]


def without_doubles(pieces: Sequence[Piece]) -> list[Piece]:
    seen: set[str] = set()
    found = []
    for piece in pieces:
        if piece.name not in seen:
            found.append(piece)
        if piece.name:
            seen.add(piece.name)
    return found


def without_broken_pairs(pieces: Sequence[Piece]) -> list[Piece]:
    """Without pairs that lack one side, stand in the wrong order or cross another."""
    names = {piece.name for piece in pieces}
    broken: set[str] = set()
    open_names: list[str] = []
    for piece in pieces:
        name = piece.name
        if name.startswith("<g") and closing(name) in names:
            open_names.append(name)
        elif name.startswith("<g"):
            broken.add(name)
        elif name.startswith("</"):
            own = f"<{name[2:]}"
            if own not in open_names:
                broken |= {own, name}
                continue
            while (last := open_names.pop()) != own:
                broken |= {last, closing(last)}
    return [piece for piece in pieces if not piece.name or piece.name not in broken]


def inner_pieces(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Without blank text, single codes and pairs around everything. Pairs are nested."""
    closers = pair_places(pieces)
    empty = empty_pairs(pieces, closers)
    ends = {closers[place]: place for place in empty}
    first, last = 0, len(pieces)
    while first < last:
        if is_outside(pieces[first]) or first in empty:
            first = closers[first] + 1 if first in empty else first + 1
        elif is_outside(pieces[last - 1]) or last - 1 in ends:
            last = ends.get(last - 1, last - 1)
        elif closers.get(first) == last - 1:
            first, last = first + 1, last - 1
        else:
            break
    return pieces[first:last]


def pair_places(pieces: Sequence[Piece]) -> dict[int, int]:
    """Where the pair ends that begins at a place."""
    found: dict[int, int] = {}
    open_places: list[int] = []
    for place, piece in enumerate(pieces):
        if piece.name.startswith("<g"):
            open_places.append(place)
        elif piece.name.startswith("</"):
            found[open_places.pop()] = place
    return found


def empty_pairs(pieces: Sequence[Piece], closers: Mapping[int, int]) -> set[int]:
    """Where pairs begin that have neither words nor what stands for them."""
    has_words = [not piece.name or piece.name.startswith("{") for piece in pieces]
    before = list(accumulate(has_words, initial=0))
    return {place for place, end in closers.items() if before[end] == before[place]}


def is_outside(piece: Piece) -> bool:
    return piece.name.startswith("<x") or not (piece.name or piece.text.strip())


def without_empty_formatting(pieces: Sequence[Piece], codes: Codes) -> list[Piece]:
    closers = pair_places(pieces)
    empty = {place for place in empty_pairs(pieces, closers) if pieces[place].name in codes.formatting}
    dropped = empty | {closers[place] for place in empty}
    return [piece for place, piece in enumerate(pieces) if place not in dropped]


def in_pairs(names: Sequence[str]) -> Iterator[str]:
    """Each pair as an empty one."""
    for name in names:
        if name.startswith("</"):
            continue
        yield name
        if name.startswith("<g"):
            yield closing(name)
