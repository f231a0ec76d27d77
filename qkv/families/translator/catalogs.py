"""Translate files with strings of a program: only the strings change, and a report says what was done with each."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import write_file, write_through
from qkv.checkpoint.outputs import check_new_file
from qkv.documents import CATALOGS, Document, NewText, Segment, extension_of, is_catalog, read_catalog
from qkv.errors import DataError, InputError, QkvError
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import ANY_FILE, FileOptions, TranslationOptions
from qkv.families.translator.pipeline import Done, Pipeline
from qkv.families.translator.translations import Translation, judged
from qkv.flags import OptionMessageError
from qkv.progress.delayed import count_progress
from qkv.runtime.file_job import LineCounter, rename_new
from qkv.runtime.pace import Pace
from qkv.runtime.running import silent
from qkv.text.protect import Kind, protected_spans

MOST_BYTES = 100_000_000  # a file is read as a whole
STRINGS_AT_ONCE = 1_000  # at most
KINDS_OF_CODES: tuple[Kind, ...] = ("tags", "placeholders")
CODE = re.compile(r"[a-z]{2}(?:[-_]\w{2,8})*", re.IGNORECASE)
Task = tuple[str, tuple[Kind, ...]]  # equal texts with equal placeholders are translated once


def catalog_format(source: Path, files: FileOptions) -> str | None:
    """The format of a file with strings; None for plain text."""
    if files.format is None and is_catalog(source.name):
        return extension_of(source.name)
    if files.format in CATALOGS:
        return files.format
    if files != replace(ANY_FILE, format=files.format):
        raise OptionMessageError("{all} and {also_fuzzy} are for catalogs such as .po: leave them out.")
    return None


def check_catalog_options(lines: LineTranslation) -> None:
    """What is written for each line of a text has no place in a catalog."""
    given = {
        "scores": lines.form.scores,
        "json": lines.form.json,
        "alignments": lines.options.alignments,
        "num_hypotheses": lines.options.num_hypotheses > 1,
    }
    names = " and ".join(f"{{{name}}}" for name, used in given.items() if used)
    if names:
        raise OptionMessageError(
            f"{names} can only be used for plain text. The report has scores of each string."
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was done with a segment."""

    origin: str  # model, copied, file, or withheld and held for segments that were left as they are
    new: NewText | None = None
    confidence: float | None = None
    checks: tuple[str, ...] = ()  # those that failed

    def record(self, segment: Segment) -> dict[str, Any]:
        return {
            "key": segment.key,
            "context": segment.context,
            "plural": segment.plural,
            "source": segment.text,
            "target": self.new.text if self.new else segment.target,
            "origin": self.origin,
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "doubtful": self.new is not None and self.new.doubtful,
            "checks": list(self.checks),
        }


class CatalogJob:
    """One file. Nothing is written before all of it is translated."""

    def __init__(self, source: Path, output: Path, format: str, *, overwrite: bool = False):
        self.source, self.output, self.format, self.overwrite = source, output, format, overwrite
        self.report = output.with_name(f"{output.name}.report.jsonl")
        for path in (output, self.report):
            check_new_file("output", path, overwrite=overwrite, inputs=[source])

    def run(
        self, pipeline: Pipeline, lines: LineTranslation, files: FileOptions, *, progress: bool = True
    ) -> None:
        content = read_bytes(self.source)
        document = self.read(content, None)
        target, options = languages_for(self.source, document, pipeline, lines.options)
        document = self.read(content, target)
        outcomes = translate(document, pipeline, replace(lines, options=options), files, progress)
        written = document.write([each.new for each in outcomes])
        self.check(document, self.read(written, target), outcomes)
        records = [each.record(segment) for segment, each in zip(document.segments, outcomes, strict=True)]
        write_file(
            self.report, "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode()
        )
        self.place(written)
        if progress:
            self.say_what_was_done(outcomes)

    def read(self, content: bytes, target: str | None) -> Document:
        try:
            return read_catalog(self.format, content, target)
        except DataError as error:
            raise DataError(f"{self.source}: {error}") from None

    def check(self, document: Document, made: Document, outcomes: Sequence[Outcome]) -> None:
        """Read the result again: it must have the same segments, and the new texts."""
        wanted = [
            segment.essence(each.new.text if each.new else segment.current)
            for segment, each in zip(document.segments, outcomes, strict=True)
        ]
        if [segment.essence(segment.current) for segment in made.segments] != wanted:
            raise QkvError(
                f"{self.source} cannot be written exactly. Nothing was written; please report this."
            )

    def place(self, content: bytes) -> None:
        if self.overwrite:
            write_file(self.output, content)
            return
        part = self.output.with_name(f"{self.output.name}.part")
        write_through(part, content)
        try:
            rename_new(part, self.output)
        except FileExistsError:
            raise QkvError(
                f"{self.output} was created by another program while this job ran, and was not replaced. The complete "
                f"result is in {part}."
            ) from None

    def say_what_was_done(self, outcomes: Sequence[Outcome]) -> None:
        from qkv.progress.terminal import say

        new = [each.new for each in outcomes if each.new]
        doubtful = sum(each.doubtful for each in new)
        held = sum(each.origin == "held" for each in outcomes)
        also = f"; {held:,} cannot be translated yet" if held else ""
        say(
            f"{len(new):,} of {len(outcomes):,} strings translated, {doubtful:,} of them doubtful{also}. "
            f"See {self.report}."
        )


def read_bytes(path: Path) -> bytes:
    if not path.is_file():
        raise DataError(f"{path} is a folder: give a file." if path.is_dir() else f"there is no file {path}.")
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES:,} bytes: divide it.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None


# Languages -------------------------------------------------------------------------------------------


def languages_for(
    source: Path, document: Document, pipeline: Pipeline, options: TranslationOptions
) -> tuple[str | None, TranslationOptions]:
    """The language for the file's header, and the options with the target language that the file states."""
    stated, known = document.target_language, pipeline.tokenizer.languages
    if options.target_language is None and stated in known:
        options = replace(options, target_language=stated)
    target = options.target_language or pipeline.defaults.languages.named()[1]
    if not target or not CODE.fullmatch(target):
        return None, options
    if stated and CODE.fullmatch(stated) and first_part(stated) != first_part(target):
        raise InputError(
            f"{source} states the target language {stated}, but this translation is into {target}: use another model or "
            "correct the file."
        )
    return target, options


def first_part(language: str) -> str:
    return re.split("[-_]", language)[0].lower()


# Translating -----------------------------------------------------------------------------------------


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


def outcome_of(
    document: Document, segment: Segment, translation: Translation, kinds: Sequence[Kind]
) -> Outcome:
    if translation.unsure and not translation.text:
        return Outcome(origin="withheld", confidence=translation.confidence, checks=("confidence",))
    text = document.storable(translation.text)
    checks = tuple(failed_checks(segment, translation, text, kinds))
    return Outcome(
        origin="model" if translation.log_probabilities else "copied",
        new=NewText(segment.codes.repair(text) if segment.codes else text, doubtful=bool(checks)),
        confidence=translation.confidence,
        checks=checks,
    )


def failed_checks(
    segment: Segment, translation: Translation, text: str, kinds: Sequence[Kind]
) -> Iterator[str]:
    """Each of these makes a translation doubtful."""
    if translation.unsure:
        yield "confidence"
    if segment.codes and not segment.codes.are_kept_by(text):
        yield "codes"
    if spans_in(segment.text, kinds) != spans_in(text, kinds):
        yield "placeholders"
    if line_breaks(segment.text) != line_breaks(text):
        yield "line breaks"
    if text != translation.text:
        yield "characters"
    if segment.is_ambiguous:
        yield "plural form"


def spans_in(text: str, kinds: Sequence[Kind]) -> Counter[str]:
    """Protected spans except entities, which are a way to write characters."""
    return Counter(span.text for span in protected_spans(text, kinds) if not span.text.startswith("&"))


def line_breaks(text: str) -> tuple[bool, bool, int]:
    """Programs check that both sides start and end alike."""
    return text.startswith("\n"), text.endswith("\n"), text.count("\n")
