"""Compare the texts of a file that was written with those that it should have."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence


def differences(wanted: Sequence[Hashable], made: Sequence[Hashable]) -> list[range]:
    """Ranges of `wanted` that `made` does not have. An empty range is a place where `made` has more.

    Texts that occur once in both lists are found again wherever they are, so one text that was divided or lost is one
    short range. Takes n log n steps.
    """
    found = []
    first, place = 0, 0
    for old, new in [*anchors(wanted, made), (len(wanted), len(made))]:
        before, behind = common_ends(wanted[first:old], made[place:new])
        missing = range(first + before, old - behind)
        if missing or place + before < new - behind:
            found.append(missing)
        first, place = old + 1, new + 1
    return found


def anchors(wanted: Sequence[Hashable], made: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest chain of texts that occur once in both lists, as pairs of places that increase."""
    often, often_made = Counter(wanted), Counter(made)
    places = {text: place for place, text in enumerate(made) if often_made[text] == 1}
    both = [(place, places[text]) for place, text in enumerate(wanted) if often[text] == 1 and text in places]
    ends: list[int] = []  # the smallest end of a chain of each length
    last: list[int] = []  # and which pair has it
    previous: list[int] = []
    for number, (_, new) in enumerate(both):
        length = bisect_left(ends, new)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [new]
        last[length : length + 1] = [number]
    chain, number = [], last[-1] if last else -1
    while number >= 0:
        chain.append(both[number])
        number = previous[number]
    return chain[::-1]


def common_ends(wanted: Sequence[Hashable], made: Sequence[Hashable]) -> tuple[int, int]:
    """How many texts are equal at the beginning and at the end."""
    most = min(len(wanted), len(made))
    before = next((place for place in range(most) if wanted[place] != made[place]), most)
    rest = most - before
    behind = next((count for count in range(rest) if wanted[-1 - count] != made[-1 - count]), rest)
    return before, behind


def among_segments(found: Sequence[range], before: Sequence[int]) -> list[range]:
    """Ranges of texts as ranges of segments. `before` counts the segments before each text, and in all."""
    return [range(before[each.start], before[each.stop]) for each in found]
