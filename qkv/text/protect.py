"""Spans of a text that are not for translation: placeholders, markup, addresses, numbers."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from qkv.text.entities import character_of
from qkv.text.segment import split_to_fit

Kind = Literal["placeholders", "tags", "urls", "emails", "numbers"]

PATTERNS: dict[Kind, str] = {
    "tags": r"</?[A-Za-z][^<>]*>|<!--(?s:.*?)-->|&(?:[A-Za-z][A-Za-z0-9]*|#\d+|#[xX][0-9A-Fa-f]+);",
    "urls": r"(?:https?|ftp)://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}]|www\.[^\s<>\"']*[^\s<>\"'.,;:!?)\]}]",
    "emails": r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+",
    "placeholders": (
        r"\{\{[^{}]*\}\}|\$?\{[^{}\s]*\}|%\([A-Za-z_]\w*\)[#0+-]*\d*(?:\.\d+)?[a-zA-Z]"
        r"|%(?:\d+\$)?[#0+-]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[sdiufFeEgGxXoc@](?!\w)|%%|\[\[[^\[\]]*\]\]"
    ),
    "numbers": r"(?<![\w.,])\d+(?:[.,:/-]\d+)*(?![\w])",
}
UNBROKEN = "\ue000"  # a letter for private use: no space, and no end of a sentence
AFTER_ADDRESS = r"(?=$|[\s<>\"']|[.,;:!?)\]}]+(?:$|[\s<>\"']))"  # what ends it, and is not a part of it
BY_DEFAULT: tuple[Kind, ...] = ("placeholders", "tags", "urls", "emails")


@dataclass(frozen=True)
class ProtectedSpan:
    kind: Kind
    text: str
    start: int  # characters
    end: int


def protected_spans(text: str, kinds: Collection[Kind]) -> list[ProtectedSpan]:
    """All of these kinds, from left to right; none within another."""
    wanted = [kind for kind in PATTERNS if kind in kinds]
    if not wanted:
        return []
    pattern = re.compile("|".join(f"(?P<{kind}>{PATTERNS[kind]})" for kind in wanted))
    return [
        ProtectedSpan(match.lastgroup, match.group(), match.start(), match.end())  # type: ignore[arg-type]
        for match in pattern.finditer(text)
    ]


def character_in(span: ProtectedSpan) -> str | None:
    """The character that a span stands for, if it is an entity for one that can be seen."""
    return character_of(span.text) if span.kind == "tags" and span.text.startswith("&") else None


def without(text: str, spans: Sequence[ProtectedSpan]) -> str:
    """The text with these spans taken out of it, and characters for entities."""
    return replaced(text, spans, [character_in(span) or "" for span in spans])


def replaced(text: str, spans: Sequence[ProtectedSpan], by: Sequence[str]) -> str:
    parts, last = [], 0
    for span, new in zip(spans, by, strict=True):
        parts += [text[last : span.start], new]
        last = span.end
    return "".join([*parts, text[last:]])


def lines_around(text: str, kinds: Collection[Kind]) -> list[str]:
    """The lines of a text, each with its end; a span that goes over several lines is in one."""
    ends: list[int] = []
    last = 0
    for span in [*protected_spans(text, kinds), None]:  # they are in order, and none is in another
        before = len(text) if span is None else span.start
        ends += [at for at in range(last + 1, before + 1) if text[at - 1] == "\n"]
        if span is not None:
            last = span.end - text[span.start : span.end].endswith("\n")
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end]


def split_around(text: str, kinds: Collection[Kind], size: Callable[[str], int], limit: int) -> list[str]:
    """Pieces of at most `limit` by `size`; no span is cut, and one that is larger than half of that is a piece by itself."""
    if size(text) <= limit:
        return [text]
    pieces: list[str] = []
    last = 0
    spans = protected_spans(text, kinds)
    for span in [each for each in spans if size(each.text) > limit // 2]:
        pieces += split_between(text[last : span.start], kinds, size, limit)
        pieces.append(span.text)
        last = span.end
    return [*pieces, *split_between(text[last:], kinds, size, limit)]


def split_between(text: str, kinds: Collection[Kind], size: Callable[[str], int], limit: int) -> list[str]:
    """The same for a text whose spans are all small."""
    if not text:
        return []
    spans = protected_spans(text, kinds)
    unbroken = replaced(text, spans, [re.sub(r"\s", UNBROKEN, span.text) for span in spans])
    lengths = [len(piece) for piece in split_to_fit(unbroken, size, limit)]
    ends = list(accumulate(lengths))
    return [text[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def occurrences(text: str, phrase: str) -> list[int]:
    """Where it stands in the text, as no part of a longer word, number or address."""
    if "@" in phrase or "//" in phrase or phrase.startswith("www."):
        before, after = r"(?<![\w.+@/-])", AFTER_ADDRESS
    elif phrase[:1].isdigit() and phrase[-1:].isdigit():
        before, after = r"(?<!\w)(?<!\d[.,:/-])", r"(?!\w|[.,:/-]\d)"
    else:
        before = r"(?<!\w)" if phrase[:1].isalnum() else ""
        after = r"(?!\w)" if phrase[-1:].isalnum() else ""
    return [match.start() for match in re.finditer(before + re.escape(phrase) + after, text)]


def located(text: str, phrases: Iterable[str]) -> dict[str, list[int]]:
    """Where each of them stands, longer ones first: what is a part of one that was found is no other."""
    taken: list[tuple[int, int]] = []
    found: dict[str, list[int]] = {}
    for phrase in sorted(set(phrases), key=lambda each: -len(each)):
        found[phrase] = [
            at
            for at in occurrences(text, phrase)
            if not any(start < at + len(phrase) and at < end for start, end in taken)
        ]
        taken += [(at, at + len(phrase)) for at in found[phrase]]
    return found


def glued(text: str, phrase: str) -> list[int]:
    """Where it stands in the text with something at it that makes it look longer."""
    whole = set(occurrences(text, phrase))
    return [match.start() for match in re.finditer(re.escape(phrase), text) if match.start() not in whole]


def survive(text: str, wanted: Sequence[str]) -> bool:
    """Is each of these in the text exactly as often as it is in the list?"""
    found = located(text, wanted)
    return all(len(found[phrase]) == count for phrase, count in Counter(wanted).items())
