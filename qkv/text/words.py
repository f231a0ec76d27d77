"""The words of a text, and the tokens of each word."""

import re
from collections.abc import Sequence

Span = tuple[int, int]  # first byte, and the byte after the last one

SPACE_SEPARATED = re.compile(r"\S+")  # as in alignment formats
WORD_STARTS = frozenset(
    bytes([byte]) for byte in b" \t\n.,;:!?)]}\"'"
)  # first bytes of tokens that start a word
WORDS_AND_MARKS = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")  # words and punctuation marks


def spans(text: str, pattern: re.Pattern[str]) -> list[Span]:
    """The byte ranges of the words of a text in UTF-8."""
    found, byte, character = [], 0, 0
    for match in pattern.finditer(text):
        start = byte + len(text[character : match.start()].encode("utf-8"))
        byte = start + len(match.group().encode("utf-8"))
        character = match.end()
        found.append((start, byte))
    return found


def words_of_tokens(tokens: Sequence[Span], words: Sequence[Span]) -> list[int | None]:
    """The index of the first word that each token overlaps; None for a token of white space."""
    found: list[int | None] = []
    word = 0
    for start, end in tokens:
        while word < len(words) and words[word][1] <= start:
            word += 1
        found.append(word if word < len(words) and words[word][0] < end else None)
    return found
