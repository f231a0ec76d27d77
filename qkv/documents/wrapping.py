"""Lines of subtitles: how wide a text is, where it may be divided, and how it is spread over lines."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qkv.text.protect import Kind, VisibleText, protected_spans

TAGS: tuple[Kind, ...] = ("tags",)
WORD = re.compile(r"\S+")
CLAUSE_END = re.compile(r"[,;:)\]–—،؛、，；：]\Z")
SENTENCE_END = re.compile(r"[.!?…؟。！？][\"'»”’)\]」』）]*\Z")
DASH = re.compile(r"[-–—]+\Z")
# Scripts without spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
SPACED_PART = re.compile(rf"[^{UNSPACED}]+|[{UNSPACED}][^\w\s(\[「『（【“‘]*")
NO_LINE_START = frozenset("、。，．・：；！？」』）】〕〉》”’ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ…")
MOST_PARTS = 120  # beyond this many words, lines are filled from left to right
MORE_LINES = 3  # than the width asks for


@dataclass(frozen=True)
class Part:
    """A word with the tags that belong to it, or a character of a script that has no spaces."""

    start: int
    end: int
    word: int
    """The number of the word, split at spaces."""
    text: str
    """Without tags."""

    @property
    def width(self) -> int:
        return width_of(self.text)

    @property
    def pause(self) -> int:
        """How good a place behind it is for a cut: 2 at the end of a sentence, 1 at the end of a clause."""
        return 2 if SENTENCE_END.search(self.text) else 1 if CLAUSE_END.search(self.text) else 0


def width_of(text: str) -> int:
    """Columns. Wide and full-width characters count 2, combining ones 0."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )


def parts_of(text: str) -> list[Part]:
    """The smallest parts between which a text may be cut, from left to right. Tags are never cut."""
    visible = VisibleText.of(text, protected_spans(text, TAGS))
    places = [
        (word, match.start() + piece.start(), piece[0])
        for word, match in enumerate(WORD.finditer(visible.text))
        for piece in pieces_of(match[0])
    ]
    starts = [0, *(visible.place(start) for _, start, _ in places[1:]), len(text)]
    return [
        Part(start, end, word, piece)
        for (start, end), (word, _, piece) in zip(pairwise(starts), places, strict=False)
    ]


def pieces_of(word: str) -> Iterator[re.Match[str]]:
    """A word of a script without spaces may be cut between its characters, but not before punctuation."""
    begin = 0
    for match in SPACED_PART.finditer(word):
        following = word[match.end() : match.end() + 1]
        if following and following in NO_LINE_START:
            continue
        found = re.compile(r".+", re.DOTALL).match(word, begin, match.end())
        if found:
            yield found
        begin = match.end()


def wrap(text: str, width: int, lines: int) -> list[str]:
    """Divide a text into lines of at most this width, with similar widths, where a clause ends if possible.

    Args:
        lines: The least number of lines.

    Returns:
        The lines. A word that is wider than a line is not divided.
    """
    parts = parts_of(text)
    if len(parts) <= 1:
        return [text.strip()]
    if len(parts) > MOST_PARTS:
        return filled(text, parts, width)
    needed = max(1, -(-width_of(visible_text(parts)) // width))
    for count in range(max(needed, lines), needed + MORE_LINES):
        found = balanced(text, parts, min(count, len(parts)))
        if all(width_of(visible_text(parts_of(line))) <= width for line in found):
            return found
    return filled(text, parts, width)


def visible_text(parts: Sequence[Part]) -> str:
    return "".join(
        f"{part.text}{' ' if following is not None and following.word != part.word else ''}"
        for part, following in zip(parts, [*parts[1:], None], strict=True)
    )


def filled(text: str, parts: Sequence[Part], width: int) -> list[str]:
    """Each line takes as many words as fit."""
    lines: list[str] = []
    start, used = 0, 0
    for part in parts:
        if used and used + part.width > width:
            lines.append(text[start : part.start].strip())
            start, used = part.start, 0
        used += part.width + 1
    return [*lines, text[start:].strip()]


def balanced(text: str, parts: Sequence[Part], count: int) -> list[str]:
    """This many lines, with the least sum of squared widths. A pause at the end of a line counts in favour of it."""
    sizes = [part.width + (following.word != part.word) for part, following in pairwise(parts)]
    total = [0]
    for size in [*sizes, parts[-1].width]:
        total.append(total[-1] + size)
    bonus = (total[-1] / count) ** 2 / 6
    best: list[tuple[float, tuple[int, ...]]] = [
        (0.0 if end == 0 else float("inf"), ()) for end in range(len(parts) + 1)
    ]
    for _ in range(count):
        best = [
            min(
                (
                    (cost + (total[end] - total[start]) ** 2 - bonus * cut_value(parts, end), (*cuts, end))
                    for start, (cost, cuts) in enumerate(best[:end])
                    if cost < float("inf")
                ),
                default=(float("inf"), ()),
            )
            for end in range(len(parts) + 1)
        ]
    cuts = best[-1][1]
    return [text[parts[start].start : parts[end - 1].end].strip() for start, end in pairwise([0, *cuts])]


def cut_value(parts: Sequence[Part], end: int) -> float:
    """How good a cut before this part is, from -4 to 2. A line must not begin with a dash: that marks a new speaker."""
    if end >= len(parts):
        return 0
    return -4 if DASH.match(parts[end].text) else parts[end - 1].pause
