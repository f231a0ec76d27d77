"""Spans that a caller protects: by regular expressions, or by marks around them."""

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

MOST_PATTERNS = 100
LONGEST_PATTERN = 1_000  # characters
SAMPLE = f"{string.printable} a1 %s {{x}} é 猫"
# Noncharacters: Unicode keeps them out of texts that are exchanged.
START, END = "\ufdd0", "\ufdd1"
MARKED = re.compile(f"{START}[^{START}{END}]*+{END}")
"""A span between marks. Marks stay beside their span when a text is split, which offsets do not."""
NO_MARKS = str.maketrans("", "", START + END)


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of a caller.

    Raises:
        ValueError: It is not a regular expression, too long, or it can match an empty text.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"it has more than {LONGEST_PATTERN:,} characters")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{error}") from None
    if any(not match[0] for sample in ("", SAMPLE) for match in compiled.finditer(sample)):
        raise ValueError("it matches an empty text")
    return compiled


def matches(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[tuple[int, int]]:
    """What the patterns match, from left to right. Where two overlap, the first pattern wins."""
    found: list[tuple[int, int]] = []
    for pattern in patterns:
        own = [match.span() for match in pattern.finditer(text) if match[0].strip()]
        found = merged(found, own)
    return iter(found)


def merged(first: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Both lists of ranges in order, without those of the second that overlap the first. Linear in their length."""
    made: list[tuple[int, int]] = []
    place = 0
    for start, end in others:
        while place < len(first) and first[place][1] <= start:
            made.append(first[place])
            place += 1
        if place == len(first) or first[place][0] >= end:
            made.append((start, end))
    return [*made, *first[place:]]


def mark_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with marks around these character ranges, which must not overlap. White space alone is not marked."""
    parts, last = [], 0
    for start, end in sorted(spans):
        if start < last or end > len(text):
            raise ValueError(f"the span {start}-{end} overlaps another one or ends behind the text")
        if text[start:end].strip():
            parts += [text[last:start], START, text[start:end], END]
            last = end
    return "".join([*parts, text[last:]])


def without_marks(text: str) -> str:
    return text.translate(NO_MARKS)
