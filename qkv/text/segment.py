"""Long text into pieces that a model can take. Nothing is dropped: the pieces add up to the text."""

import re
from collections.abc import Callable, Iterator

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”)\]]*\s+|(?<=[。！？])")
WORD_END = re.compile(r"(?<=\S)\s+")


def split_to_fit(text: str, size: Callable[[str], int], limit: int) -> list[str]:
    """Pieces of at most `limit` by `size`: whole sentences as far as possible, then words, then characters."""
    if size(text) <= limit:
        return [text]
    pieces: list[str] = []
    room = 0
    for unit in units_that_fit(text, size, limit):
        needed = size(unit)
        if pieces and needed <= room and not SENTENCE_END.search(pieces[-1][-4:]):
            pieces[-1] += unit
            room -= needed
        else:
            pieces.append(unit)
            room = limit - needed
    return pieces


def units_that_fit(text: str, size: Callable[[str], int], limit: int) -> Iterator[str]:
    """Sentences; where one is too long, its words; where a word is too long, its halves."""
    for sentence in cut_after(text, SENTENCE_END):
        if size(sentence) <= limit:
            yield sentence
            continue
        for word in cut_after(sentence, WORD_END):
            yield from halves_that_fit(word, size, limit)


def cut_after(text: str, boundary: re.Pattern[str]) -> Iterator[str]:
    """The parts of the text, each with the boundary that ends it."""
    start = 0
    for match in boundary.finditer(text):
        if match.end() > start:
            yield text[start : match.end()]
            start = match.end()
    if start < len(text):
        yield text[start:]


def halves_that_fit(word: str, size: Callable[[str], int], limit: int) -> Iterator[str]:
    if len(word) <= 1 or size(word) <= limit:
        yield word
        return
    middle = len(word) // 2
    yield from halves_that_fit(word[:middle], size, limit)
    yield from halves_that_fit(word[middle:], size, limit)
