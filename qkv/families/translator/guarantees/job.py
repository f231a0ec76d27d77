"""What a translation must keep of its source: terms, protected spans and tags."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qkv.errors import InputError
from qkv.families.translator.guarantees.places import Edit, Mark, Places, applied, marked, outside
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Links
from qkv.text.entities import escape
from qkv.text.patterns import without_marks
from qkv.text.protect import (
    TAKES_NEXT_ARGUMENT,
    ProtectedSpan,
    all_kept,
    character_in,
    locate,
    merged_occurrences,
    occurrences,
    protected_spans,
    replace_spans,
    separates_words,
)


def touches(place: tuple[int, int], others: Sequence[ProtectedSpan | Edit]) -> bool:
    return any(other.start < place[1] and place[0] < other.end for other in others)


def as_read(text: str) -> str:
    """Replace tabs and control characters, which training text rarely contains, by spaces."""
    return re.sub(r"[^\S \u00a0\u202f\u3000]|[\x00-\x1f\x7f-\x9f]", " ", text)


def without_edges(
    text: str, marks: Sequence[Mark], kept: Sequence[ProtectedSpan]
) -> tuple[str, list[Mark], list[ProtectedSpan]]:
    """Move white space between outer tags and the text into the tags, so that the model does not read it."""
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
    """A phrase that the translation must contain, and the source characters that it translates, if any."""

    text: str
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Job:
    """A segment, and what its translation must keep."""

    text: str  # without its tags, and with characters instead of entities
    marks: tuple[Mark, ...]  # tags, which are put back at the end
    spellings: Mapping[str, str]  # characters that were written as entities, and these entities
    kept: tuple[ProtectedSpan, ...]  # spans of the text that are copied
    wanted: tuple[Wanted, ...]  # phrases that the translation must contain

    @classmethod
    def of(cls, segment: str, decoding: TranslationOptions, *, entities_are_words: bool = False) -> "Job":
        """`entities_are_words` keeps entities, for a model that has learned them from its training text."""
        marks: list[Mark] = []
        kept: list[ProtectedSpan] = []
        spellings: dict[str, str] = {}
        text, last = "", 0
        for span in protected_spans(segment, decoding.protected):
            text += as_read(segment[last : span.start])
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
                shown = without_marks(span.text)
                kept.append(replace(span, text=shown, start=len(text), end=len(text) + len(shown)))
                text += shown
                continue
            rest = segment[last : last + 1]
            alone = text[-1:].isspace() and rest.isspace()
            marks.append(Mark(span.text, len(text), alone=alone))
            if separates_words(text[-1:], rest):
                text += " "
            elif alone:
                last += 1
        text += as_read(segment[last:])
        text, marks, kept = without_edges(text, marks, kept)
        wanted = [
            Wanted(phrase, outside_spans)
            for phrase, places in decoding.glossary.required_phrases(text).items()
            if (outside_spans := tuple(place for place in places if not touches(place, kept)))
        ]
        wanted += [Wanted(phrase) for phrase in decoding.contain]
        for each in wanted:
            for avoided in decoding.avoid:
                if avoided in f" {each.text}":  # a phrase follows a space
                    raise InputError(f"a translation cannot contain '{each.text}' and avoid '{avoided}'.")
        return cls(text=text, marks=tuple(marks), spellings=spellings, kept=tuple(kept), wanted=tuple(wanted))

    @property
    def kept_texts(self) -> list[str]:
        return [span.text for span in self.kept]

    @property
    def must_keep(self) -> bool:
        """Whether a translation can break a guarantee of this job."""
        return bool(self.kept or self.wanted)

    def written(self, output: str) -> str:
        """The output with the entities of the source."""
        return escape(output, self.spellings) if self.spellings else output

    def is_kept_by(self, text: str) -> bool:
        """Whether a translation keeps every guarantee except the tags, which are inserted at the end."""
        return all_kept(text, self.kept_texts) and all(occurrences(text, each.text) for each in self.wanted)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A job as the model reads it: unchanged, with stand-ins in place of its spans, or without the spans."""

    job: Job
    text: str
    stand_ins: tuple[str, ...] = ()  # one for each protected span, or none
    left_out: tuple[tuple[int, int], ...] = ()  # ranges of the job's text that are not read

    @classmethod
    def plain(cls, job: Job) -> "Reading":
        return cls(job=job, text=job.text)

    @classmethod
    def with_stand_ins(cls, job: Job, known: Sequence[str]) -> "Reading | None":
        """None if there are too few stand-ins that the text does not contain itself."""
        taken = " ".join([job.text, *(each.text for each in job.wanted)])
        free = [word for word in known if is_stand_in(word) and not occurrences(taken, word)][: len(job.kept)]
        if not job.kept or len(free) < len(job.kept):
            return None
        return cls(job=job, text=replace_spans(job.text, job.kept, free), stand_ins=tuple(free))

    @classmethod
    def without_spans(cls, job: Job) -> "Reading | None":
        """For a model that can copy neither spans nor stand-ins; None if there are no spans."""
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
        """Convert a position in the job's text to one in the text that the model reads."""
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
        """The phrases that the model's output must contain."""
        names = () if self.left_out else self.names
        return list(dict.fromkeys([*names, *(each.text for each in self.job.wanted)]))

    @property
    def names(self) -> tuple[str, ...]:
        """The protected spans as the model reads them."""
        return self.stand_ins or tuple(self.job.kept_texts)

    def back(self, output: str) -> str:
        """The output with spans in place of their stand-ins."""
        return applied(output, self.back_edits(output))

    def written(self, output: str) -> str:
        """The same with the entities of the source. Spans stay unchanged."""
        if not self.names:
            return self.job.written(output)
        return applied(output, self.back_edits(output), self.job.written)

    def back_edits(self, output: str) -> list[Edit]:
        if not self.names:
            return []
        found = locate(output, self.names)
        edits = [
            Edit(start, start + len(name), self.pad_with_spaces(output, start, name, text), span=text)
            for name, text in dict(zip(self.names, self.job.kept_texts, strict=True)).items()
            for start in found[name]
        ]
        return in_source_order(edits, self.job.kept_texts)

    def pad_with_spaces(self, output: str, start: int, name: str, text: str) -> str:
        """The text that replaces a stand-in, padded with a space if the span would merge with its neighbours."""
        before, after = (self.job.written(part) for part in (output[:start], output[start + len(name) :]))
        for new in (text, f"{text} ", f" {text}"):
            if len(before) + new.index(text) in occurrences(f"{before}{new}{after}", text):
                return new
        return f" {text} "


def is_stand_in(word: str) -> bool:
    """A single letter is part of too many words, such as T-shirt."""
    return len(word) > 1


def completed(reading: Reading, output: str, links: Links, begins: int = 0) -> str:
    """The output with every span and tag inserted, exactly as often as in the source.

    `links` pair words of `reading.text` and `output`. No span is inserted inside the first `begins` characters.
    """
    whole = [
        (match.start(), match.end())
        for name in reading.phrases
        for match in re.finditer(re.escape(name), output)
    ]
    edits, missing = repairs(reading, output)
    taken = {edit.start for edit in edits if edit.end > edit.start}
    edits += [edit for edit in reading.back_edits(output) if edit.start not in taken]
    edits = [outside(edit, whole) for edit in edits]
    marks = sorted([*reading.marks, *missing], key=lambda mark: mark.place)
    prefix = [(-1, begins)]
    placed = marked(marks, Places(reading.text, output, links, whole))
    edits += [outside(edit, prefix) if edit.span else edit for edit in placed]
    return applied(output, in_source_order(edits, reading.job.kept_texts), reading.job.written)


def in_source_order(edits: Sequence[Edit], spans: Sequence[str]) -> list[Edit]:
    """Keep placeholders that take the next argument in source order: %d and %s must not be swapped."""
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


def repairs(reading: Reading, output: str) -> tuple[list[Edit], list[Mark]]:
    """Edits that remove spans which occur too often, and marks for those that are missing."""
    edits: list[Edit] = []
    absent: list[Mark] = []
    names, texts = reading.names, reading.job.kept_texts
    everywhere = locate(output, names)
    for name, count in Counter(names).items():
        found = everywhere[name]
        # A name inside a longer word or a longer span does not count.
        stuck = (
            []
            if name.isalnum()
            else [at for at in merged_occurrences(output, name) if not within(at, name, names, output)]
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
        if not occurrences(reading.back(output), wanted.text):
            new = reading.job.written(wanted.text)
            edits.append(Edit(len(output), len(output), new, apart=True))
    return edits, absent


def within(start: int, name: str, names: Sequence[str], text: str) -> bool:
    """Whether the text at `start` is part of a longer name."""
    longer = [other for other in names if len(other) > len(name)]
    return any(
        match.start() <= start < match.end()
        for other in longer
        for match in re.finditer(re.escape(other), text)
    )
