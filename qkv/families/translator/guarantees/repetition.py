"""Detects loops: translations that repeat themselves more often than their source does."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import eq

LONGEST_UNIT = 12  # the most tokens in a repeated unit


def is_loop(output: Sequence[int], source: Sequence[int]) -> bool:
    """Whether a short sequence of tokens is repeated more often than the source justifies."""
    if len(output) - len(set(output)) < 2:  # a loop has every token of its unit at least three times
        return False
    if max(Counter(output).values()) < 3:
        return False
    allowed = max(2, 1 + max((count for count, _ in runs(source)), default=1))
    return any(count > (allowed if unit > 2 else max(3, allowed)) for count, unit in runs(output))


def repeats_a_word(output: str, reasons: Sequence[str]) -> bool:
    """Whether a word occurs three times in a row, ignoring case, without a reason.

    If one of the `reasons` repeats a word, the output may repeat one once more than that.
    """
    run = run_of_words(output)
    if run <= 2:
        return False
    longest = max((run_of_words(reason) for reason in reasons), default=1)
    return run > max(2, longest + (longest > 1))


def run_of_words(text: str) -> int:
    """The longest run of one word; only words with a letter or a digit count."""
    words: list[str | None] = [*text.casefold().split()]
    if not any(map(eq, words, words[1:])):
        return 1
    words = [word if word and any(map(str.isalnum, word)) else None for word in words]
    most = length = 1
    for one, other in pairwise(words):
        length = length + 1 if one is not None and one == other else 1
        most = max(most, length)
    return most


def runs(ids: Sequence[int]) -> list[tuple[int, int]]:
    """For each length of a unit, the most times in a row that one occurs: (times, length)."""
    found = []
    for unit in range(1, min(LONGEST_UNIT, len(ids) // 2) + 1):
        longest = length = 0
        for one, other in zip(ids, ids[unit:], strict=False):
            length = length + 1 if one == other else 0
            longest = max(longest, length)
        found.append((longest // unit + 1, unit))
    return found
