"""Loops: translations that say the same again and again, more often than their source gives them reason to."""

from collections.abc import Sequence
from itertools import pairwise

LONGEST_UNIT = 12  # pieces of what may be repeated in a loop


def is_loop(said: Sequence[int], source: Sequence[int]) -> bool:
    """Does a few words' sequence come again and again, more often than the source has reason for?"""
    allowed = max(2, 1 + max((count for count, _ in runs(source)), default=1))
    return any(count > (allowed if unit > 2 else max(3, allowed)) for count, unit in runs(said))


def repeats_a_word(said: str, reasons: Sequence[str]) -> bool:
    """Does one word, between spaces and in any case, come three times in a row, and none of the reasons repeats one?

    Where one of them does, once more than there is allowed.
    """
    longest = max((run_of_words(reason) for reason in reasons), default=1)
    return run_of_words(said) > max(2, longest + (longest > 1))


def run_of_words(text: str) -> int:
    """The most times in a row that a word with a letter or a digit follows upon itself."""
    words = [word if any(map(str.isalnum, word)) else None for word in text.casefold().split()]
    most = length = 1
    for one, other in pairwise(words):
        length = length + 1 if one is not None and one == other else 1
        most = max(most, length)
    return most


def runs(ids: Sequence[int]) -> list[tuple[int, int]]:
    """How often in a row, at most, a sequence of each length follows upon itself: (times, length)."""
    found = []
    for unit in range(1, min(LONGEST_UNIT, len(ids) // 2) + 1):
        longest = length = 0
        for one, other in zip(ids, ids[unit:], strict=False):
            length = length + 1 if one == other else 0
            longest = max(longest, length)
        found.append((longest // unit + 1, unit))
    return found
