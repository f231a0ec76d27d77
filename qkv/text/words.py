"""Where words stand in a text, and which pieces belong to each."""

import re
from collections.abc import Sequence

Span = tuple[int, int]  # first byte, and the byte behind the last

SPACED = re.compile(r"\S+")  # what stands between spaces, which is how alignments count words
FINE = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")  # words, and each mark on its own


def spans(text: str, pattern: re.Pattern[str]) -> list[Span]:
    """The words of a text as bytes of its UTF-8."""
    found, byte, character = [], 0, 0
    for match in pattern.finditer(text):
        start = byte + len(text[character : match.start()].encode("utf-8"))
        byte = start + len(match.group().encode("utf-8"))
        character = match.end()
        found.append((start, byte))
    return found


def owners(pieces: Sequence[Span], words: Sequence[Span]) -> list[int | None]:
    """For each piece the first word that it has bytes of; None for a piece that is nothing but space."""
    found: list[int | None] = []
    word = 0
    for start, end in pieces:
        while word < len(words) and words[word][1] <= start:
            word += 1
        found.append(word if word < len(words) and words[word][0] < end else None)
    return found
