"""What a translation owes its source: terms in their form, and protected spans as they are."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qkv.errors import UserError
from qkv.families.translator.answers import Links
from qkv.families.translator.guarantees.places import Edit, Mark, Places, applied, marked, outside
from qkv.families.translator.options import TranslationOptions
from qkv.text.entities import escaped
from qkv.text.protect import (
    TAKES_NEXT_ARGUMENT,
    ProtectedSpan,
    character_in,
    glued,
    located,
    occurrences,
    parts_words,
    protected_spans,
    replaced,
    survive,
)


def touches(place: tuple[int, int], others: Sequence[ProtectedSpan | Edit]) -> bool:
    return any(other.start < place[1] and place[0] < other.end for other in others)


def as_read(text: str) -> str:
    """With spaces for tabs and control characters, which hardly any training text has."""
    return re.sub(r"[^\S \u00a0\u202f\u3000]|[\x00-\x1f\x7f-\x9f]", " ", text)


def without_edges(
    text: str, marks: Sequence[Mark], kept: Sequence[ProtectedSpan]
) -> tuple[str, list[Mark], list[ProtectedSpan]]:
    """Without white space between tags at the ends and the text: it goes with the tags, and no model reads it."""
    before = len(text) - len(text.lstrip()) if marks and marks[0].place == 0 else 0
    behind = len(text.rstrip()) if marks and marks[-1].place == len(text) else len(text)
    if before >= behind or behind - before == len(text):
        return text, [*marks], [*kept]
    moved: list[Mark] = []
    places = [mark.place for mark in marks]
    for mark, last, following in zip(marks, [0, *places], [*places[1:], before], strict=False):
        space_before = text[max(last, behind) : mark.place]
        space_behind = text[mark.place : min(following, before)]
        place = min(max(mark.place, before), behind) - before
        moved.append(replace(mark, text=space_before + mark.text + space_behind, place=place))
    shifted = [replace(span, start=span.start - before, end=span.end - before) for span in kept]
    return text[before:behind], moved, shifted


@dataclass(frozen=True)
class Wanted:
    """A phrase that must be there, and the characters of the source that it comes from, where there are such."""

    text: str
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """A piece of text, and what its translation owes it."""

    text: str  # without its tags, and with characters instead of entities
    marks: tuple[Mark, ...]  # which go back to where they belong
    spellings: Mapping[str, str]  # characters that were entities, which they become again
    kept: tuple[ProtectedSpan, ...]  # spans of the text that stay as they are
    wanted: tuple[Wanted, ...]  # what must be there

    @classmethod
    def of(cls, piece: str, decoding: TranslationOptions, *, entities_are_words: bool = False) -> "Job":
        """With `entities_are_words`, for a model that has learned them from its training text, they are left in it."""
        marks: list[Mark] = []
        kept: list[ProtectedSpan] = []
        spellings: dict[str, str] = {}
        text, last = "", 0
        for span in protected_spans(piece, decoding.protect):
            text += as_read(piece[last : span.start])
            last = span.end
            character = character_in(span)
            if character is not None and entities_are_words:
                text += span.text
                continue
            if character is not None:
                spellings.setdefault(character, span.text)
                text += character
                continue
            if span.kind != "tags":
                kept.append(replace(span, start=len(text), end=len(text) + len(span.text)))
                text += span.text
                continue
            marks.append(Mark(span.text, len(text)))
            rest = piece[last : last + 1]
            if parts_words(text[-1:], rest):
                text += " "
            elif text[-1:].isspace() and rest.isspace():
                last += 1
        text += as_read(piece[last:])
        text, marks, kept = without_edges(text, marks, kept)
        wanted = [
            Wanted(phrase, outside_spans)
            for phrase, places in decoding.glossary.found_in(text).items()
            if (outside_spans := tuple(place for place in places if not touches(place, kept)))
        ]
        wanted += [Wanted(phrase) for phrase in decoding.contain]
        for each in wanted:
            for avoided in decoding.avoid:
                if avoided in f" {each.text}":  # it is a word of its own
                    raise UserError(f"a translation cannot contain '{each.text}' and avoid '{avoided}'.")
        return cls(text=text, marks=tuple(marks), spellings=spellings, kept=tuple(kept), wanted=tuple(wanted))

    @property
    def kept_texts(self) -> list[str]:
        return [span.text for span in self.kept]

    def written(self, said: str) -> str:
        """What was said in the source's way of writing it."""
        return escaped(said, self.spellings)

    def is_kept_by(self, text: str) -> bool:
        """Does this translation hold every promise but the tags, which are put in at the end?"""
        return survive(text, self.kept_texts) and all(occurrences(text, each.text) for each in self.wanted)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A job as the model reads it: as it is, with words that it can copy in the place of spans, or without the spans."""

    job: Job
    text: str
    stand_ins: tuple[str, ...] = ()  # one for each span that is kept, or none at all
    left_out: tuple[tuple[int, int], ...] = ()  # from where to where the job's text is not read

    @classmethod
    def plain(cls, job: Job) -> "Reading":
        return cls(job=job, text=job.text)

    @classmethod
    def with_stand_ins(cls, job: Job, known: Sequence[str]) -> "Reading | None":
        """None where there are not enough words that the text does not have itself."""
        taken = " ".join([job.text, *(each.text for each in job.wanted)])
        free = [word for word in known if is_stand_in(word) and not occurrences(taken, word)][: len(job.kept)]
        if not job.kept or len(free) < len(job.kept):
            return None
        return cls(job=job, text=replaced(job.text, job.kept, free), stand_ins=tuple(free))

    @classmethod
    def without_spans(cls, job: Job) -> "Reading | None":
        """For a model that can copy neither the spans nor a word in their place; None where there is no span."""
        gaps: list[tuple[int, int]] = []
        for span in job.kept:
            start, end = span.start, span.end
            read = gaps[-1][1] if gaps else 0
            alone_behind = job.text[end : end + 1] in ("", " ")
            if start > read and job.text[start - 1] == " " and alone_behind:
                start -= 1
            elif start == read and job.text[end : end + 1] == " ":
                end += 1
            gaps.append((start, end))
        text = "".join(
            job.text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *gaps, (len(job.text), 0)])
        )
        return cls(job=job, text=text, left_out=tuple(gaps)) if gaps else None

    def place(self, place: int) -> int:
        """A place of the job's text in what the model reads."""
        if self.left_out:
            return place - sum(min(place, end) - start for start, end in self.left_out if start < place)
        longer = [len(name) - len(span.text) for name, span in zip(self.names, self.job.kept, strict=True)]
        return place + sum(
            more for more, span in zip(longer, self.job.kept, strict=True) if span.end <= place
        )

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(replace(mark, place=self.place(mark.place)) for mark in self.job.marks)

    @property
    def phrases(self) -> list[str]:
        """What the model must say."""
        names = () if self.left_out else self.names
        return list(dict.fromkeys([*names, *(each.text for each in self.job.wanted)]))

    @property
    def names(self) -> tuple[str, ...]:
        """The spans that are kept as the model reads them."""
        return self.stand_ins or tuple(self.job.kept_texts)

    def back(self, said: str) -> str:
        """With the spans in the place of the words that stood in for them."""
        return applied(said, self.back_edits(said))

    def written(self, said: str) -> str:
        """The same in the source's way of writing it, which leaves the spans as they are."""
        return applied(said, self.back_edits(said), self.job.written)

    def back_edits(self, said: str) -> list[Edit]:
        found = located(said, self.names)
        edits = [
            Edit(start, start + len(name), self.unstuck(said, start, name, text), span=text)
            for name, text in dict(zip(self.names, self.job.kept_texts, strict=True)).items()
            for start in found[name]
        ]
        return in_source_order(edits, self.job.kept_texts)

    def unstuck(self, said: str, start: int, name: str, text: str) -> str:
        """What goes into the place of a name, with a space where it would look longer: an address ends later than a word."""
        before, after = (self.job.written(part) for part in (said[:start], said[start + len(name) :]))
        for new in (text, f"{text} ", f" {text}"):
            if len(before) + new.index(text) in occurrences(f"{before}{new}{after}", text):
                return new
        return f" {text} "


def is_stand_in(word: str) -> bool:
    """A letter is a part of too much else, such as T-shirt."""
    return len(word) > 1


def completed(reading: Reading, said: str, links: Links, begins: int = 0) -> str:
    """What was said with spans and tags where they belong: every one of them exactly as often as in the source.

    `links` are pairs of words of `reading.text` and of `said`. No span goes before the first `begins` characters.
    """
    whole = [
        (match.start(), match.end())
        for name in reading.phrases
        for match in re.finditer(re.escape(name), said)
    ]
    edits, missing = repairs(reading, said)
    taken = {edit.start for edit in edits if edit.end > edit.start}
    edits += [edit for edit in reading.back_edits(said) if edit.start not in taken]
    edits = [outside(edit, whole) for edit in edits]
    marks = sorted([*reading.marks, *missing], key=lambda mark: mark.place)
    prefix = [(-1, begins)]
    placed = marked(marks, Places(reading.text, said, links, whole))
    edits += [outside(edit, prefix) if edit.span else edit for edit in placed]
    return applied(said, in_source_order(edits, reading.job.kept_texts), reading.job.written)


def in_source_order(edits: Sequence[Edit], spans: Sequence[str]) -> list[Edit]:
    """With placeholders that take the next argument in the order of the source: %d and %s must not change places."""
    made = list(edits)
    for pattern in TAKES_NEXT_ARGUMENT:
        wanted = [span for span in spans if pattern.fullmatch(span)]
        found = [index for index, edit in enumerate(edits) if pattern.fullmatch(edit.span)]
        found.sort(key=lambda index: (edits[index].start, edits[index].end))
        if len(found) == len(wanted):
            for index, span in zip(found, wanted, strict=True):
                edit = edits[index]
                made[index] = replace(edit, new=edit.new.replace(edit.span, span), span=span)
    return made


def repairs(reading: Reading, said: str) -> tuple[list[Edit], list[Mark]]:
    """What takes away spans and words that are there too often, and the spans that are missing."""
    edits: list[Edit] = []
    absent: list[Mark] = []
    names, texts = reading.names, reading.job.kept_texts
    everywhere = located(said, names)
    for name, count in Counter(names).items():
        found = everywhere[name]
        # A word in a longer word is another word, and a span in a longer span that one.
        stuck = (
            [] if name.isalnum() else [at for at in glued(said, name) if not within(at, name, names, said)]
        )
        edits += [Edit(start, start, " ") for start in stuck]
        edits += [Edit(start + len(name), start + len(name), " ") for start in stuck]
        found = sorted([*found, *stuck])
        edits += [Edit(start, start + len(name), "") for start in found[count:]]
        own = texts[names.index(name)]
        edits += [Edit(start, start + len(name), own, span=own) for start in stuck if start in found[:count]]
        for index in [index for index, each in enumerate(names) if each == name][len(found) :]:
            absent.append(Mark(texts[index], reading.place(reading.job.kept[index].start), span=texts[index]))
    for wanted in reading.job.wanted:
        if not occurrences(reading.back(said), wanted.text):
            new = reading.job.written(wanted.text)
            edits.append(Edit(len(said), len(said), new, apart=True))
    return edits, absent


def within(start: int, name: str, names: Sequence[str], text: str) -> bool:
    """Is what stands there a part of one of the longer names?"""
    longer = [other for other in names if len(other) > len(name)]
    return any(
        match.start() <= start < match.end()
        for other in longer
        for match in re.finditer(re.escape(other), text)
    )
