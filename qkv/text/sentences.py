"""The sentences of a text, and whether a translation has lost one."""

import re
from collections.abc import Sequence

from qkv.text.segment import Range, range_around

# White space behind the end of a sentence that another one follows. Chinese and Japanese need no white space.
BOUNDARY = re.compile(
    r"(?<=[.!?।؟۔])[\"'»”’)\]]*\s+(?=\S)|(?<=[。！？])[”’」』）]*\s*(?=[^\s。！？”’」』）])"
)
# A full stop behind one of these may not end a sentence: initials, numbers, an ellipsis, frequent abbreviations.
NO_END = re.compile(
    r"(?:\b\w|\d|\.|\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|no|nr|vol|pp|cf|ca|approx|inc|ltd|bzw|evtl|usw|fr|hr|sra|dra|ud|uds))\.\Z",
    re.IGNORECASE,
)
LONGEST_ABBREVIATION = 8  # characters, with the full stop and what stands before it


def split_sentences(text: str, whole: Sequence[Range] = ()) -> list[str]:
    """Split a text after its sentences. Joined together, they are the text.

    A full stop behind a number, an initial or an abbreviation does not count. The sorted ranges in `whole` are not split.

    Example:
        >>> split_sentences("Dr. Lee left. Why?")
        ['Dr. Lee left. ', 'Why?']
    """
    cuts = [
        match.end()
        for match in BOUNDARY.finditer(text)
        if not NO_END.search(text, max(0, match.start() - LONGEST_ABBREVIATION), match.start())
        and range_around(match.end(), whole) is None
    ]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def count_boundaries(text: str) -> int:
    """The places in a text where a sentence may end and another begins, abbreviations included."""
    return sum(1 for _ in BOUNDARY.finditer(text))
