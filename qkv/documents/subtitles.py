"""Subtitles (.srt, .vtt): a sentence that runs over several cues is translated as a whole and divided again.

Timings, numbers, styles, notes, tags around a whole cue, speakers and dashes stay. Word alignment decides which part of a
translation stands in which cue (see `cut_translation`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from qkv.documents.comparing import differences
from qkv.documents.cutting import cut_translation
from qkv.documents.document import Document, Edit, NewText, NewTexts, Segment
from qkv.documents.encodings import Decoded, decode
from qkv.documents.reading import DEFAULT_READING, Reading
from qkv.documents.subtitle_scanner import Cue, cues_of
from qkv.documents.subtitle_sentences import Piece, is_timed, joined, pieces_of, sentences_of
from qkv.documents.wrapping import wrap

TIMED = "timestamps"


def read_srt(content: bytes, reading: Reading = DEFAULT_READING) -> Document:
    return read_subtitles(content, reading, "application/x-subrip", blank_ends=False)


def read_vtt(content: bytes, reading: Reading = DEFAULT_READING) -> Document:
    return read_subtitles(content, reading, "text/vtt", blank_ends=True)


def read_subtitles(content: bytes, reading: Reading, media_type: str, *, blank_ends: bool) -> Document:
    decoded = decode(content)
    cues = cues_of(decoded.text, blank_ends=blank_ends)
    pieces = [piece for number, cue in enumerate(cues) for piece in pieces_of(decoded.text, number, cue)]
    subtitles = Subtitles(
        decoded=decoded,
        cues=cues,
        sentences=list(sentences_of(pieces, cues)),
        offsets=decoded.offsets(place for piece in pieces for place in (piece.start, piece.end)),
        line_width=reading.line_width,
        blank_ends=blank_ends,
    )
    return Document(
        content=content,
        segments=tuple(map(subtitles.segment, subtitles.sentences)),
        media_type=media_type,
        encoding=decoded.encoding,
        compare=subtitles.compare,
    )


@dataclass(frozen=True, kw_only=True)
class Subtitles:
    decoded: Decoded
    cues: Sequence[Cue]
    sentences: Sequence[Sequence[Piece]]
    offsets: dict[int, int]
    line_width: int
    blank_ends: bool

    def segment(self, sentence: Sequence[Piece]) -> Segment:
        text = joined([piece.text for piece in sentence])
        return Segment(
            text=text,
            start=self.offsets[sentence[0].start],
            end=self.offsets[sentence[-1].end],
            encode=self.decoded.encode,
            markup=True,
            key=str(sentence[0].cue + 1),
            held=TIMED if is_timed(text) else "",
            spread=partial(self.spread, sentence),
        )

    def spread(self, sentence: Sequence[Piece], new: NewText) -> Iterator[Edit]:
        for piece, text in zip(sentence, self.divided(sentence, new), strict=True):
            yield Edit(self.offsets[piece.start], self.offsets[piece.end], self.decoded.encode(text))

    def divided(self, sentence: Sequence[Piece], new: NewText) -> list[str]:
        """What is written for each piece of a sentence. In WebVTT, an arrow is only for timings."""
        text = " ".join(new.text.split()).replace("-->", "--&gt;" if self.blank_ends else "->")
        room = [self.line_width * max(2, piece.lines) for piece in sentence]
        parts = cut_translation([piece.text for piece in sentence], text, new.alignment, room)
        return [
            self.line_break.join(wrap(part, self.line_width, piece.lines))
            for piece, part in zip(sentence, parts, strict=True)
        ]

    @property
    def line_break(self) -> str:
        return "\r\n" if "\r\n" in self.decoded.text else "\n"

    def compare(self, written: bytes, new: NewTexts) -> list[range]:
        """Sentences in cues that do not have the new texts. White space does not count."""
        texts: dict[int, str] = {}
        for sentence, each in zip(self.sentences, new, strict=True):
            if each is not None and each.text != joined([piece.text for piece in sentence]):
                texts |= zip((piece.start for piece in sentence), self.divided(sentence, each), strict=True)
        ends = {piece.start: piece.end for sentence in self.sentences for piece in sentence}
        made = cues_of(decode(written).text, blank_ends=self.blank_ends)
        starts = sorted(texts)
        wanted = [(cue.begin, cue.end, self.expected(cue, texts, starts, ends)) for cue in self.cues]
        found = differences(
            wanted, [(cue.begin, cue.end, without_space(line.text for line in cue.lines)) for cue in made]
        )
        begin, end = ([sentence[place].cue for sentence in self.sentences] for place in (0, -1))
        return [range(bisect_left(end, each.start), bisect_right(begin, each.stop - 1)) for each in found]

    def expected(self, cue: Cue, texts: dict[int, str], starts: Sequence[int], ends: dict[int, int]) -> str:
        if not cue.lines:
            return ""
        place, last = cue.lines[0].start, cue.lines[-1].start + len(cue.lines[-1].text)
        parts = []
        for start in starts[bisect_left(starts, place) : bisect_left(starts, last)]:
            parts += [self.decoded.text[place:start], texts[start]]
            place = ends[start]
        return without_space([*parts, self.decoded.text[place:last]])


def without_space(texts: Sequence[str] | Iterator[str]) -> str:
    return "".join("".join(texts).split())
