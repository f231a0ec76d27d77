"""Select the segments of a document, and translate them. Equal ones are translated once."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from qkv.documents import Document, Segment
from qkv.families.translator.files.outcome import Outcome, outcome_of
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import FileOptions
from qkv.families.translator.pipeline import Done, Pipeline
from qkv.families.translator.translations import Translation, judged
from qkv.progress.delayed import count_progress
from qkv.runtime.file_job import LineCounter
from qkv.runtime.pace import Pace
from qkv.runtime.running import silent
from qkv.text.protect import Kind

STRINGS_AT_ONCE = 1_000  # at most
KINDS_OF_CODES: tuple[Kind, ...] = ("tags", "placeholders")
Task = tuple[str, tuple[Kind, ...]]  # equal texts with equal placeholders are translated once


def is_selected(segment: Segment, files: FileOptions) -> bool:
    """Only what is missing, unless more is asked for. A file of one language has nothing but sources."""
    if segment.held or not segment.text:
        return False
    if files.all or segment.target is None or segment.state == "untranslated":
        return True
    return files.also_fuzzy and segment.state == "fuzzy"


def kinds_for(segment: Segment, protect: Sequence[Kind]) -> tuple[Kind, ...]:
    """The placeholders of the segment's dialect in place of placeholders in general. Inline codes are always protected."""
    kinds = tuple(segment.dialect or kind if kind == "placeholders" else kind for kind in protect)
    return tuple(dict.fromkeys((*kinds, *KINDS_OF_CODES))) if segment.codes else kinds


def translate(
    document: Document, pipeline: Pipeline, lines: LineTranslation, files: FileOptions, progress: bool
) -> list[Outcome]:
    tasks: dict[int, Task] = {
        place: (segment.text, kinds_for(segment, lines.options.protect))
        for place, segment in enumerate(document.segments)
        if is_selected(segment, files)
    }
    different = list(dict.fromkeys(tasks.values()))
    shown = count_progress("translating", len(different), lines=True)
    counted: AbstractContextManager[Done] = shown if progress else nullcontext(silent)
    with counted as count:
        found = dict(translations_of(different, pipeline, lines, count))
    return [
        outcome_of(document, segment, found[tasks[place]], tasks[place][1])
        if place in tasks
        else Outcome(origin="held" if segment.held else "file", checks=held_checks(segment))
        for place, segment in enumerate(document.segments)
    ]


def held_checks(segment: Segment) -> tuple[str, ...]:
    return (segment.held,) if segment.held else ()


def translations_of(
    tasks: Sequence[Task], pipeline: Pipeline, lines: LineTranslation, count: Done
) -> Iterator[tuple[Task, Translation]]:
    for kinds in dict.fromkeys(kinds for _, kinds in tasks):
        options = replace(lines.options, protect=kinds)
        own = [task for task in tasks if task[1] == kinds]
        for portion in Pace(STRINGS_AT_ONCE).portions(own):
            counter = LineCounter(len(portion), count)
            found = pipeline.hypotheses([text for text, _ in portion], options, counter.advance)
            counter.finish()
            yield from zip(portion, (judged(row[0], lines.confidence) for row in found), strict=True)
