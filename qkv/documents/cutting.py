"""Divides the translation of a sentence among the places where its source stands, by word alignment."""

from collections.abc import Sequence
from itertools import pairwise

from qkv.documents.document import Links
from qkv.documents.wrapping import Part, cut_value, parts_of, width_of

WIDE = 0.2  # cost of each column that does not fit
PAUSE = 0.75  # worth of the end of a clause, in links that cross a cut


def cut_translation(
    sources: Sequence[str], translation: str, links: Links | None, room: Sequence[int]
) -> list[str]:
    """The parts of a translation, one for each part of its source.

    A cut is good if few alignment links cross it, if a clause ends there, if the parts have about the same shares of the
    text as in the source, and if each part has room.

    Args:
        sources: The parts of the source.
        links: Pairs of a source word and a word of the translation, split at spaces; None if they are not known.
        room: The columns for each part.

    Returns:
        Parts without white space around them. If there are fewer words than parts, the last ones are empty.
    """
    parts = parts_of(translation)
    count = len(sources)
    if count == 1:
        return [translation.strip()]
    if len(parts) <= count:
        return [*(translation[part.start : part.end].strip() for part in parts), *[""] * (count - len(parts))]
    cuts = best_cuts(costs_of(sources, parts, links), parts, room)
    places = [0, *(parts[cut].start for cut in cuts), len(translation)]
    return [translation[start:end].strip() for start, end in pairwise(places)]


def costs_of(sources: Sequence[str], parts: Sequence[Part], links: Links | None) -> list[list[float]]:
    """For each boundary in the source, the cost of a cut before each part of the translation."""
    widths = [width_of(source) + 1 for source in sources]
    before = [0]
    for part in parts:
        before.append(before[-1] + part.width + 1)
    word_count = [len({part.word for part in parts_of(source)}) for source in sources]
    usable = [each for each in links or [] if each[0] < sum(word_count) and each[1] <= parts[-1].word]
    weight = len(usable) or sum(word_count)
    found, boundary, share = [], 0, 0.0
    for size, width in zip(word_count[:-1], widths[:-1], strict=True):
        boundary, share = boundary + size, share + width / sum(widths)
        crossings = crossings_before(parts, usable, boundary)
        certain = 0.3 if usable else 1.0  # without links, only the share decides
        found.append(
            [
                crossings[place]
                + certain * weight * abs(before[place] / before[-1] - share)
                - PAUSE * cut_value(parts, place)
                for place in range(len(parts))
            ]
        )
    return found


def crossings_before(parts: Sequence[Part], links: Links, boundary: int) -> list[float]:
    """How many links would cross a cut before each part, if the source is cut before the word `boundary`."""
    ahead, behind = [0.0] * (parts[-1].word + 2), [0.0] * (parts[-1].word + 2)
    for source, target in links:
        (ahead if source < boundary else behind)[target] += 1
    sizes = [0] * (parts[-1].word + 1)
    for part in parts:
        sizes[part.word] += 1
    found, left_wrong, right_wrong = [], 0.0, sum(ahead)
    for part in parts:
        found.append(left_wrong + right_wrong)
        left_wrong += behind[part.word] / sizes[part.word]
        right_wrong -= ahead[part.word] / sizes[part.word]
    return found


def best_cuts(costs: Sequence[Sequence[float]], parts: Sequence[Part], room: Sequence[int]) -> list[int]:
    """Increasing cuts with the least cost together."""
    before = [0]
    for part in parts:
        before.append(before[-1] + part.width + 1)

    def excess(start: int, end: int, columns: int) -> float:
        return WIDE * max(0, before[end] - before[start] - 1 - columns)

    rows: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for row, columns in zip(costs, room, strict=False):
        rows = {
            end: min(
                (cost + row[end] + excess(start, end, columns), (*cuts, end))
                for start, (cost, cuts) in rows.items()
                if start < end
            )
            for end in range(min(rows) + 1, len(parts))
        }
    return list(min((cost + excess(cuts[-1], len(parts), room[-1]), cuts) for cost, cuts in rows.values())[1])
