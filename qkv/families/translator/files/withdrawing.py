"""Keep the source of a text whose translation would not be read back, so that it does not block its file."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from qkv.documents import Document, NewText
from qkv.families.translator.files.outcome import Outcome

CHECK = "markup"


def write_exactly(
    document: Document, outcomes: Sequence[Outcome], read: Callable[[bytes], Document]
) -> tuple[bytes, list[Outcome]] | None:
    """The file, which has all new texts when it is read again, and what was done in the end.

    Where it would lack a text, the first translation of that range is withdrawn, in the next round the first two, then four,
    so after log n rounds none is left. Returns None if even this does not help.
    """
    found = list(outcomes)
    for most in (2**power for power in range(len(found).bit_length() + 2)):
        new = [each.new for each in found]
        written = document.write(new)
        missing = document.differences(written, new, read)
        if not missing:
            return written, found
        translated = [place for place, each in enumerate(found) if is_changed(document, place, each)]
        for place in set(suspects(missing, translated, most)):
            found[place] = withdrawn(document, place, found[place])
    return None


def is_changed(document: Document, place: int, outcome: Outcome) -> bool:
    return outcome.new is not None and outcome.new.text != document.segments[place].current


def suspects(missing: Sequence[range], translated: Sequence[int], most: int) -> Iterator[int]:
    """The first translated places of each range; those on both sides if there is none."""
    for each in missing:
        first, last = bisect_left(translated, each.start), bisect_left(translated, each.stop)
        if first < last:
            yield from translated[first : min(first + most, last)]
        else:
            yield from translated[max(0, first - most) : first + most]


def withdrawn(document: Document, place: int, outcome: Outcome) -> Outcome:
    """A file of one language has the source then. In others, the translation stays empty, or what it was."""
    segment = document.segments[place]
    new = NewText(segment.text, doubtful=True) if segment.target is None else None
    return replace(outcome, origin="held", new=new, checks=(*outcome.checks, CHECK))
