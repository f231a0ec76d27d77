"""Splits long text into segments that fit a model. Joined together, the segments are the text."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”)\]]*\s+|(?<=[。！？])")
ENDS_SENTENCE = re.compile(r"[.!?…][\"'»”)\]]*\s+\Z|[。！？]\Z")
WORD_END = re.compile(r"(?<=\S)\s+")


Range = tuple[int, int]  # characters


def split_to_fit(text: str, size: Callable[[str], int], limit: int, whole: Sequence[Range] = ()) -> list[str]:
    """Split a text into segments of at most `limit` by `size`: at sentences if possible, else at words or characters.

    The sorted ranges in `whole` are not split. A range that is too large is a segment of its own.
    """
    if size(text) <= limit:
        return [text]
    groups: list[list[str]] = []
    room = 0
    for start, end in units_that_fit(text, size, limit, whole):
        unit = text[start:end]
        needed = size(unit)
        if groups and needed <= room and not ENDS_SENTENCE.search(groups[-1][-1]):
            groups[-1].append(unit)
            room -= needed
        else:
            groups.append([unit])
            room = limit - needed
    return [segment for group in groups for segment in join_to_fit(group, size, limit)]


def join_to_fit(units: list[str], size: Callable[[str], int], limit: int) -> Iterator[str]:
    """Join units into one segment. If it is larger than the sum of its units and too large, halve it."""
    segment = "".join(units)
    if len(units) == 1 or size(segment) <= limit:
        yield segment
        return
    middle = len(units) // 2
    yield from join_to_fit(units[:middle], size, limit)
    yield from join_to_fit(units[middle:], size, limit)


def units_that_fit(
    text: str, size: Callable[[str], int], limit: int, whole: Sequence[Range]
) -> Iterator[Range]:
    """Sentences, split into words if they are too long, and words split in half until they fit."""
    for sentence in split_after(SENTENCE_END, text, (0, len(text)), whole):
        if size(text[slice(*sentence)]) <= limit:
            yield sentence
            continue
        for word in split_after(WORD_END, text, sentence, whole):
            yield from halves_that_fit(word, lambda part: size(text[slice(*part)]) <= limit, whole)


def split_after(boundary: re.Pattern[str], text: str, part: Range, whole: Sequence[Range]) -> Iterator[Range]:
    """Split a part of the text after each match of `boundary`."""
    start, end = part
    for match in boundary.finditer(text, start, end):
        if match.end() > start and range_around(match.end(), whole) is None:
            yield start, match.end()
            start = match.end()
    if start < end:
        yield start, end


def range_around(place: int, whole: Sequence[Range]) -> Range | None:
    """The range that a cut at this position would split."""
    index = bisect_right(whole, place, key=lambda each: each[1])
    return whole[index] if index < len(whole) and whole[index][0] < place else None


def halves_that_fit(word: Range, fits: Callable[[Range], bool], whole: Sequence[Range]) -> Iterator[Range]:
    start, end = word
    middle = (start + end) // 2
    broken = range_around(middle, whole)
    if broken is not None:
        middle = broken[0] if broken[0] > start else broken[1]
    if fits(word) or not start < middle < end:
        yield word
        return
    yield from halves_that_fit((start, middle), fits, whole)
    yield from halves_that_fit((middle, end), fits, whole)
