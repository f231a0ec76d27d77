"""clean: drop harmful pairs from a parallel corpus, and report why."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from qkv import html
from qkv.checkpoint.outputs import check_new_file
from qkv.corpus.settings import CleanSettings, check_clean
from qkv.data.language_tags import language_of
from qkv.data.python_rows import as_path, is_path
from qkv.errors import DataError, InputError, check_rules
from qkv.flags import Flag, OptionalFile, OptionalLanguage, OptionMessageError, OrData, SomeFiles
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from qkv.corpus.held_out import HeldOut
    from qkv.corpus.records import Corpus, Record
    from qkv.corpus.report import CleanReport
    from qkv.evaluation.display import Display
    from qkv.keywords import CleanKeywords


FEW_PAIRS = 20_000  # of these and fewer, the alignment check drops good pairs too


@dataclass(frozen=True, kw_only=True)
class CleanOptions:
    """What is cleaned, and how. In Python, pairs and sentences can be lists or tables instead of files."""

    pairs: OrData[SomeFiles] = ()
    """Files with both sides: .tsv, .jsonl, .tmx or .po, also gzipped. Several are cleaned as one corpus."""
    source: OrData[OptionalFile] = None
    """Or two text files: source sentences, one per line."""
    target: OrData[OptionalFile] = None
    """Translations of the source sentences, line by line."""
    output: Annotated[Path | None, Flag(aliases=["-o", "--out"], metavar="FILE")] = None
    """File for the pairs that are kept: .tsv or .tsv.gz. Without it, nothing is written."""
    report: OptionalFile = None
    """Also write the report to this file, as JSON."""
    overwrite: bool = False
    """Replace output files that exist."""
    held_out: OrData[SomeFiles] = ()
    """Validation and test sets, as pairs or plain text: drop pairs that contain one of their sentences."""
    source_language: OptionalLanguage = None
    """Such as en; by default from the file name."""
    target_language: OptionalLanguage = None
    """Such as de; by default from the file name."""
    processes: int = 0
    """Number of processes; 0 for one per core."""
    settings: Annotated[CleanSettings, Flag(name="")] = field(default_factory=CleanSettings)


@dataclass(frozen=True, kw_only=True, repr=False)
class Cleaned:
    """A cleaned corpus: how many pairs were kept, and what was dropped and why.

    Example:
        >>> pairs = [("The cat danced today.", "Die Katze tanzte heute."), ("a", "b")]
        >>> cleaned = qkv.clean(pairs, source_language="en", target_language="de", min_alignment=None)
        >>> cleaned.pairs
        [('The cat danced today.', 'Die Katze tanzte heute.')]
        >>> cleaned.dropped
        {'too short': 1}
    """

    total: int
    """The number of pairs in the corpus."""
    kept: int
    dropped: dict[str, int]
    """The number of dropped pairs for each reason."""
    examples: dict[str, list[tuple[str, str]]]
    """A few dropped pairs for each reason."""
    pairs: list[tuple[str, str]] | None
    """The pairs that were kept; None if they were written to a file."""
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The report, as `qkv clean` writes it to a file."""
        return self._report.to_dict()

    @property
    def _report(self) -> CleanReport:
        from qkv.corpus.report import CleanReport

        return CleanReport(
            total=self.total,
            kept=self.kept,
            dropped=self.dropped,
            examples=self.examples,
            settings=self.settings,
        )

    def __str__(self) -> str:
        return "\n".join(text for text, _ in self.lines())

    def __repr__(self) -> str:
        return f"<Cleaned>\n{self}"

    def lines(self) -> Iterator[tuple[str, str]]:
        """What `qkv clean` prints: each line, and whether it is a "reason" or an "example"."""
        yield f"kept {self.kept:,} of {self.total:,} pairs ({share(self.kept, self.total)})", ""
        for reason, count in self.dropped.items():
            yield "", ""
            yield f"{reason}: {count:,} ({share(count, self.total)})", "reason"
            for pair in self.examples[reason]:
                for text in pair:
                    yield f"  {shorten(text)}", "example"

    def _repr_html_(self) -> str:
        rows = [
            (reason, f"{count:,}", share(count, self.total), *map(shorten, self.examples[reason][0]))
            for reason, count in self.dropped.items()
        ]
        counts = html.table([row[:3] for row in rows], ["dropped because", "pairs", "share"])
        pairs = [(reason, *map(shorten, pair)) for reason in self.dropped for pair in self.examples[reason]]
        examples = html.folded(
            "Examples", html.table(pairs, ["dropped because", "source", "target"], texts=3)
        )
        kept = html.line(f"Kept {self.kept:,} of {self.total:,} pairs ({share(self.kept, self.total)}).")
        return kept + (counts + examples if rows else "")


def share(count: int, total: int) -> str:
    return f"{100 * count / max(1, total):.2f} %"


def shorten(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@with_options(CleanOptions)
def clean(pairs: Any = (), *, progress: bool = True, **options: Unpack[CleanKeywords]) -> Cleaned:
    """Drop pairs that are duplicates, in another language, misaligned, damaged or in a test set, as `qkv clean` does.

    A corpus is read several times. An iterator is copied to a temporary file first, so it may be larger than memory; then
    give `output`, so that the result is not held in memory either.

    Args:
        pairs: Pairs of texts: a list, an iterator, a table with the columns source and target; or files.
        progress: Show a progress bar if it takes a while.

    Returns:
        How many pairs were kept and why others were dropped, and the pairs themselves unless `output` is given.

    Raises:
        InputError: A pair of the wrong shape or type; or no pair is left.

    Example:
        >>> pairs = [("The cat danced today.", "Die Katze tanzte heute.")] * 2
        >>> cleaned = qkv.clean(pairs, source_language="en", target_language="de", min_alignment=None)
        >>> cleaned.kept, cleaned.dropped
        (1, {'duplicate': 1})
    """
    from qkv.progress.display import python_display

    nothing = pairs is None or (isinstance(pairs, tuple) and not pairs)  # a table compares itself by element
    given = {} if nothing else {"pairs": pairs}
    return run_clean(
        replace_options(CleanOptions(), {**options, **given}), python_display(progress), keep=True
    )


def run_clean(options: CleanOptions, display: Display, *, keep: bool) -> Cleaned:
    """Clean a corpus. Pairs that are not written are kept in memory with `keep`, otherwise only counted."""
    check_options(options)
    from qkv.corpus.clean import Languages
    from qkv.corpus.clean import clean as clean_corpus
    from qkv.corpus.judge import usable_cores

    source, target = languages_of(options)
    output = None if options.output is None else as_path(options.output)
    with corpus_in(options, source, target) as corpus, open_output(output, keep) as (write, kept):
        found = clean_corpus(
            corpus,
            options.settings,
            Languages(source=source, target=target),
            held_out=held_out_in(options.held_out, source, target),
            write=write,
            processes=options.processes or usable_cores(),
            progress=display.progress,
        )
        if not found.kept:  # nothing is written
            raise InputError(
                "no pairs are left: check the languages, and that the two sides belong together."
            )
    warn_of_small_corpus(found, display)
    if options.report is not None:
        from qkv.corpus.output import new_file

        with new_file(as_path(options.report)) as file:
            file(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
    return Cleaned(
        total=found.total,
        kept=found.kept,
        dropped=dict(found.dropped),
        examples=dict(found.examples),
        pairs=kept,
        settings=dict(found.settings),
    )


def warn_of_small_corpus(found: CleanReport, display: Display) -> None:
    """A dictionary of few pairs does not know many good translations."""
    from qkv.corpus.reasons import MISALIGNED

    misaligned = found.dropped.get(MISALIGNED, 0)
    if misaligned and found.total < FEW_PAIRS:
        display.warn(
            f"{found.total:,} pairs are few to learn a dictionary from: the {misaligned:,} misaligned ones may be good. Read the "
            "examples; min_alignment None skips this check."
        )


# Checks ----------------------------------------------------------------------------------------------


def check_options(options: CleanOptions) -> None:
    check_clean(options.settings)
    two = [options.source is not None, options.target is not None]
    pairs: Any = options.pairs
    has_pairs = not (isinstance(pairs, tuple) and not pairs)
    if any(two) != all(two) or has_pairs == all(two):
        raise OptionMessageError("give the corpus: either {pairs}, or both {source} and {target}.")
    inputs = [as_path(each) for each in (*files_in(pairs), options.source, options.target) if is_path(each)]
    for path in inputs:
        if not path.exists():
            raise DataError(f"there is no file {path}: check the name and the folder.")
        if not path.is_file() and not path.is_dir():
            raise InputError(
                f"{path} is not a regular file. A corpus is read several times: write it to a file first."
            )
    check_rules([("processes", "must not be negative", options.processes >= 0)])
    read = [*inputs, *files_in(options.held_out)]
    for option, given in (("output", options.output), ("report", options.report)):
        if given is not None:
            check_new_file(option, as_path(given), overwrite=options.overwrite, inputs=read)
    if options.output is not None and not as_path(options.output).name.lower().endswith((".tsv", ".tsv.gz")):
        raise OptionMessageError("{output} {path} must end in .tsv or .tsv.gz.", path=options.output)


def files_in(given: Any) -> list[Path]:
    """The files, if these are files; otherwise none."""
    if is_path(given):
        return [as_path(given)]
    several = (
        isinstance(given, tuple | list) and bool(given) and all(isinstance(each, Path) for each in given)
    )
    return list(given) if several else []


def languages_of(options: CleanOptions) -> tuple[str | None, str | None]:
    """The given languages, or those in the file names: train.en and train.de, or train.en-de.tsv."""
    from qkv.corpus.records import languages_in_name

    found: tuple[str | None, str | None] = (None, None)
    files = files_in(options.pairs)
    if is_path(options.source) and is_path(options.target):
        found = language_of(as_path(options.source)), language_of(as_path(options.target))
    elif files:
        found = languages_in_name(files[0])
    source, target = options.source_language or found[0], options.target_language or found[1]
    if options.settings.language_confidence and (source is None or target is None):
        raise OptionMessageError(
            "the languages are unknown: give {source_language} and {target_language}, or skip the check with "
            "{language_confidence} 0."
        )
    return source, target


# Input and output ------------------------------------------------------------------------------------


@contextmanager
def corpus_in(options: CleanOptions, source: str | None, target: str | None) -> Iterator[Corpus]:
    from qkv.corpus.records import corpus_of, corpus_of_two

    files = files_in(options.pairs)
    if is_path(options.source) and is_path(options.target):
        yield corpus_of_two(as_path(options.source), as_path(options.target))
    elif files:
        yield corpus_of(files, source, target)
    else:
        with tempfile.TemporaryDirectory(prefix="qkv-") as folder:
            path = Path(folder) / "corpus.tsv"
            write_records(path, options, source, target)
            yield corpus_of([path], source, target)


def write_records(path: Path, options: CleanOptions, source: str | None, target: str | None) -> None:
    """Copy pairs that were given in Python to a file, one by one."""
    from qkv.corpus.output import new_records

    with new_records(path) as write:
        for record in records_in(options, source, target):
            write(record)


def records_in(options: CleanOptions, source: str | None, target: str | None) -> Iterator[Record]:
    from qkv.corpus.records import record
    from qkv.data.given import check_length, iterate_pairs, texts_of
    from qkv.data.lines import one_line
    from qkv.data.pair_columns import PairColumns

    if options.source is not None:
        sides = texts_of(options.source, "source"), texts_of(options.target, "target")
        check_length(len(sides[1]), "target", len(sides[0]), "source")
        pairs: Iterator[tuple[str, str]] = zip(*sides, strict=True)
    else:
        columns = PairColumns(source_language=source, target_language=target)
        pairs = iterate_pairs(options.pairs, "pairs", columns)
    for pair in pairs:
        yield record(*map(one_line, pair))


def held_out_in(given: Any, source: str | None, target: str | None) -> HeldOut:
    from qkv.corpus.held_out import HeldOut, read_held_out
    from qkv.corpus.records import record
    from qkv.data.given import items_of, iterate_pairs, texts_of
    from qkv.data.pair_columns import PairColumns

    files = files_in(given)
    if files or (isinstance(given, tuple) and not given):
        return read_held_out(files, source, target)
    items = items_of(given, "held_out", "texts or pairs")
    if isinstance(items[0], str):
        return HeldOut.of([], texts_of(items, "held_out"))
    columns = PairColumns(source_language=source, target_language=target)
    return HeldOut.of([record(*pair) for pair in iterate_pairs(items, "held_out", columns)])


def open_output(
    path: Path | None, keep: bool
) -> AbstractContextManager[tuple[Callable[[Record], object], list[tuple[str, str]] | None]]:
    """A function that takes the pairs that are kept, and the list that it adds them to, if any."""
    if path is not None:
        return written_to(path)
    if not keep:
        return nullcontext((lambda _record: None, None))
    kept: list[tuple[str, str]] = []
    return nullcontext((lambda record: kept.append((record.source, record.target)), kept))


@contextmanager
def written_to(path: Path) -> Iterator[tuple[Callable[[Record], object], None]]:
    from qkv.corpus.output import new_records

    with new_records(path) as write:
        yield write, None
