"""Where something that stood at a place of a source belongs in its translation, and how it gets there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from qkv.families.translator.answers import Links
from qkv.text.words import FINE

NEEDS_NO_SPACE = re.compile(r"\s|[.,;:!?)\]}\"']*(\s|$)")  # what may follow at once upon a word
TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:-]*)[^<>]*?(/?)>")


@dataclass(frozen=True)
class Mark:
    """A tag, and the character of the text before which it stood."""

    text: str
    place: int


@dataclass(frozen=True)
class Edit:
    start: int
    end: int
    new: str
    apart: bool = False  # with spaces around it, where there would be none


def applied(text: str, edits: Sequence[Edit], write: Callable[[str], str] = str) -> str:
    """All edits; what would go into the midst of something that is replaced goes behind it.

    What is not replaced is told by `write`.
    """
    made, last, apart = "", 0, False
    for edit in [*sorted(edits, key=lambda each: (each.start, each.end)), Edit(len(text), len(text), "")]:
        between = text[last : edit.start]  # nothing, where several edits have one place
        if between:
            made += " " * (apart and NEEDS_NO_SPACE.match(text, last) is None) + write(between)
            apart = False
        follows_at_once = apart and edit.start < edit.end and NEEDS_NO_SPACE.match(edit.new) is None
        if (edit.apart or follows_at_once) and made and not made[-1].isspace():
            made += " "
        made += edit.new
        last, apart = max(last, edit.end), edit.apart or (apart and (edit.start == edit.end or not edit.new))
    return made


def outside(edit: Edit, spans: Sequence[tuple[int, int]]) -> Edit:
    """What would be put into the midst of a span goes behind it."""
    behind = max(
        (end for start, end in spans if edit.start == edit.end and start < edit.start < end), default=None
    )
    return edit if behind is None else replace(edit, start=behind, end=behind)


class Places:
    """Where something that stood at a place of the source belongs in the translation."""

    def __init__(self, source: str, target: str, links: Links):
        self.source = [match.span() for match in FINE.finditer(source)]
        self.target = [match.span() for match in FINE.finditer(target)]
        self.length = len(target)
        self.links: dict[int, list[int]] = {}
        for one, other in links:
            self.links.setdefault(one, []).append(other)

    def linked(self, start: int, end: int) -> list[int]:
        """Words of the translation that come from words between two characters of the source."""
        inside = [index for index, (first, last) in enumerate(self.source) if first >= start and last <= end]
        return sorted({target for index in inside for target in self.links.get(index, [])})

    def after(self, place: int) -> int:
        """Behind what comes from the word before it, or in front of what comes from the word behind it."""
        before = [index for index, (_, end) in enumerate(self.source) if end <= place]
        if not before:
            return 0
        if len(before) == len(self.source):
            return self.target[-1][1] if self.target else self.length
        if before[-1] in self.links:
            return self.target[max(self.links[before[-1]])][1]
        if before[-1] + 1 in self.links:
            return self.target[min(self.links[before[-1] + 1])][0]
        share = len(before) / len(self.source)
        return self.target[min(len(self.target) - 1, int(share * len(self.target)))][0] if self.target else 0

    def around(self, start: int, end: int) -> tuple[int, int] | None:
        """From the first to the last word that comes from between two characters; None where there is none."""
        words = self.linked(start, end)
        return (self.target[words[0]][0], self.target[words[-1]][1]) if words else None


def marked(marks: Sequence[Mark], places: Places) -> list[int]:
    """The place of each mark in the translation; a pair of tags goes around what was between them."""
    found = [places.after(mark.place) for mark in marks]
    opened: list[tuple[str, int]] = []
    for index, mark in enumerate(marks):
        match = TAG_NAME.fullmatch(mark.text)
        if match is None or match[3]:
            continue
        if not match[1]:
            opened.append((match[2].lower(), index))
            continue
        names = [name for name, _ in opened]
        if match[2].lower() not in names:
            continue
        last = len(names) - 1 - names[::-1].index(match[2].lower())
        first = opened[last][1]
        del opened[last:]
        around = places.around(marks[first].place, mark.place)
        if around is not None:
            found[first], found[index] = around
        else:
            found[index] = max(found[first], found[index])
    return found
