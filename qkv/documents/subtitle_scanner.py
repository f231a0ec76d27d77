"""The cues of subtitle files, and where their lines are. Linear in the length of the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from qkv.errors import DataError

LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
TIMING = re.compile(rf"[ \t]*{TIME}[ \t]*-->[ \t]*{TIME}(?:[ \t].*)?")
NUMBER = re.compile(r"[ \t]*\d{1,9}[ \t]*")


@dataclass(frozen=True)
class Line:
    text: str
    start: int  # characters


@dataclass
class Cue:
    """Lines that are shown together. The times are in milliseconds."""

    begin: int
    end: int
    lines: list[Line] = field(default_factory=list)


def cues_of(text: str, *, blank_ends: bool) -> list[Cue]:
    """All cues. `blank_ends`: whether a cue ends at the first blank line, as in WebVTT, or at the next timing."""
    found: list[Cue] = []
    is_open = False
    for line, following in pairwise([*lines_of(text), None]):
        if line is None:
            continue
        timing = TIMING.fullmatch(line.text)
        if timing:
            found.append(Cue(milliseconds(timing, 1), milliseconds(timing, 5)))
            is_open = True
        elif not line.text.strip():
            is_open = is_open and not blank_ends
        elif is_open and not is_name_of_next(line, following, any_name=blank_ends):
            found[-1].lines.append(line)
    if not found and text.strip() and not text.startswith("WEBVTT"):
        raise DataError("there is no cue: a cue begins with a line such as 00:00:01,000 --> 00:00:03,000.")
    return found


def lines_of(text: str) -> Iterator[Line]:
    for match in LINE.finditer(text):
        if match.start() < len(text):
            yield Line(match[0].rstrip("\r\n"), match.start())


def is_name_of_next(line: Line, following: Line | None, *, any_name: bool) -> bool:
    """Whether it is the number of the next cue, or in WebVTT its name."""
    if following is None or TIMING.fullmatch(following.text) is None:
        return False
    return any_name or NUMBER.fullmatch(line.text) is not None


def milliseconds(timing: re.Match[str], group: int) -> int:
    hours, minutes, seconds, part = (timing[group + place] or "0" for place in range(4))
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(part.ljust(3, "0"))
