"""Which cues of subtitles make one sentence, and what in a cue is text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qkv.documents.subtitle_scanner import TIME, Cue, Line
from qkv.documents.wrapping import SENTENCE_END, UNSPACED
from qkv.text.markup import pairs, scan
from qkv.text.sentences import NO_END

TAG = r"</?[A-Za-z0-9][^<>\n]{0,200}>|\{[^{}\n]{0,100}\}"
SPEAKER = r"(?:[-–—]\s?(?!\d)|>>\s?|[A-ZÀ-Þ][A-ZÀ-Þ0-9 .'’#-]{0,30}:(?=\s))"
BEFORE = re.compile(rf"(?:\s|{TAG}|{SPEAKER}|[♪♫#]+(?=\s))*")
BEHIND = re.compile(rf"(?:\s|{TAG}|[♪♫])*\Z")
BEGINS_SPEECH = re.compile(rf"(?:\s|(?!<v[ .])(?:{TAG}))*(?:{SPEAKER}|[♪♫\[(]|<v[ .])")
LONGEST_TAIL = 300  # characters that are searched for tags at the end of a cue
ENDS_ANYWAY = re.compile(r"[\])♪♫:]\s*\Z")  # sounds, songs, speakers
TAGS = re.compile(TAG)
ELLIPSIS = re.compile(r"(?:\.\.\.|…)[\"'»”’]*\Z")
FIRST_LETTER = re.compile(r"[^\W\d_]")
LINE_BREAK = re.compile(r"(?<!\s)(?:\s*\n\s*|\s*\r\s*)")  # tried once in each run of white space
TIMED = re.compile(rf"<{TIME}>")
ONE_BREAK = re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t]*")
JOINS_WITHOUT_SPACE = re.compile(rf"[{UNSPACED}]")

LONGEST_PAUSE = 3_000  # milliseconds between cues of one sentence
MOST_PIECES = 8  # in one sentence
LONGEST_SENTENCE = 600  # characters


@dataclass(frozen=True)
class Piece:
    """What one speaker says in one cue: the text from character `start` to `end`, without tags around it."""

    cue: int
    start: int
    end: int
    text: str
    lines: int
    begins: bool
    """Whether a dash, a name, a bracket or a note marks that something new begins."""


def pieces_of(text: str, number: int, cue: Cue) -> Iterator[Piece]:
    group: list[Line] = []
    for line in cue.lines:
        begins = BEGINS_SPEECH.match(line.text) is not None
        if group and (begins or not follows(text, group[-1], line)):
            yield from piece_in(text, number, group)
            group = []
        group.append(line)
    if group:
        yield from piece_in(text, number, group)


def follows(text: str, line: Line, other: Line) -> bool:
    """Whether there is no blank line between them."""
    return ONE_BREAK.fullmatch(text, line.start + len(line.text), other.start) is not None


def piece_in(text: str, number: int, group: Sequence[Line]) -> Iterator[Piece]:
    start, end = group[0].start, group[-1].start + len(group[-1].text)
    first, last = inner_range(text[start:end])
    inner = text[start + first : start + last]
    if any(map(str.isalpha, TAGS.sub("", inner))):
        begins = BEGINS_SPEECH.match(group[0].text) is not None
        lines = LINE_BREAK.split(inner)
        yield Piece(number, start + first, start + last, joined(lines), len(lines), begins)


def inner_range(text: str) -> tuple[int, int]:
    """Without tags at both ends, except those whose other half is inside."""
    before = BEFORE.match(text)
    first = before.end() if before else 0
    tail = max(first, len(text) - LONGEST_TAIL)
    behind = BEHIND.search(text, tail)
    last = behind.start() if behind else len(text)
    if first >= last:
        return len(text), len(text)
    items = list(scan(text))
    matched = [(items[one], items[other]) for one, other in pairs(items)]
    first = min(
        [first, *(one.start for one, other in matched if one.start < first and first <= other.start < last)]
    )
    last = max([last, *(other.end for one, other in matched if other.start >= last and one.start >= first)])
    return first, last


def joined(texts: Sequence[str]) -> str:
    """One text. Scripts without spaces between words are joined without a space."""
    made = ""
    for text in texts:
        touching = (
            made and text and JOINS_WITHOUT_SPACE.match(made[-1]) and JOINS_WITHOUT_SPACE.match(text[0])
        )
        made += text if touching or not made or not text else f" {text}"
    return made


def sentences_of(pieces: Sequence[Piece], cues: Sequence[Cue]) -> Iterator[list[Piece]]:
    sentence: list[Piece] = []
    for piece in pieces:
        if sentence and not continues(sentence, piece, cues):
            yield sentence
            sentence = []
        sentence.append(piece)
    if sentence:
        yield sentence


def continues(sentence: Sequence[Piece], piece: Piece, cues: Sequence[Cue]) -> bool:
    """Whether the next piece goes on with the sentence."""
    last = sentence[-1]
    if piece.begins or piece.cue > last.cue + 1 or len(sentence) >= MOST_PIECES:
        return False
    if (
        cues[piece.cue].begin - cues[last.cue].end > LONGEST_PAUSE
        or is_timed(piece.text)
        or is_timed(last.text)
    ):
        return False
    if sum(len(each.text) for each in (*sentence, piece)) > LONGEST_SENTENCE:
        return False
    text, letter = TAGS.sub("", last.text).rstrip(), FIRST_LETTER.search(TAGS.sub("", piece.text))
    goes_on = letter is not None and letter[0].islower()
    if ENDS_ANYWAY.search(text):
        return False
    if ELLIPSIS.search(text):
        return goes_on
    if text.endswith("."):
        return goes_on or NO_END.search(text[-8:]) is not None
    return SENTENCE_END.search(text) is None


def is_timed(text: str) -> bool:
    """Whether words have their own times, as in automatic captions."""
    return TIMED.search(text) is not None
