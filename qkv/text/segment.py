"""Long text into pieces that a model can take. Nothing is dropped: the pieces add up to the text."""

import re
from collections.abc import Callable, Iterator

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”)\]]*\s+|(?<=[。！？])")
ENDS_SENTENCE = re.compile(r"[.!?…][\"'»”)\]]*\s+\Z|[。！？]\Z")
WORD_END = re.compile(r"(?<=\S)\s+")


def split_to_fit(text: str, size: Callable[[str], int], limit: int) -> list[str]:
    """Pieces of at most `limit` by `size`: whole sentences as far as possible, then words, then characters."""
    if size(text) <= limit:
        return [text]
    groups: list[list[str]] = []
    room = 0
    for unit in units_that_fit(text, size, limit):
        needed = size(unit)
        if groups and needed <= room and not ENDS_SENTENCE.search(groups[-1][-1]):
            groups[-1].append(unit)
            room -= needed
        else:
            groups.append([unit])
            room = limit - needed
    return [piece for group in groups for piece in joined_to_fit(group, size, limit)]


def joined_to_fit(units: list[str], size: Callable[[str], int], limit: int) -> Iterator[str]:
    """The units as one piece; in halves where together they are larger than the sum of them."""
    piece = "".join(units)
    if len(units) == 1 or size(piece) <= limit:
        yield piece
        return
    middle = len(units) // 2
    yield from joined_to_fit(units[:middle], size, limit)
    yield from joined_to_fit(units[middle:], size, limit)


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
