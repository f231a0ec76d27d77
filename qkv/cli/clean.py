"""`qkv clean`: drop harmful pairs from a parallel corpus."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from qkv.cli.inputs import OptionalFile, OptionalLanguage, OptionalOutput
from qkv.cli.options import check_output, read_options
from qkv.corpus.settings import CleanSettings, check_clean
from qkv.data.language_tags import language_of
from qkv.errors import QkvError
from qkv.flags import Flag

if TYPE_CHECKING:
    from qkv.corpus.records import Corpus, Record
    from qkv.corpus.report import CleanReport

COMMON = {
    "pairs", "source", "target", "output", "report", "held-out", "source-language", "target-language", "processes",
    "max-length", "max-ratio", "language-confidence", "min-alignment",
}  # fmt: skip
SeveralFiles = Annotated[tuple[Path, ...], Flag(metavar="FILE [FILE ...]")]


@dataclass(frozen=True, kw_only=True)
class Clean:
    pairs: SeveralFiles = ()
    """Files with both sides: .tsv, .jsonl, .tmx or .po, also gzipped. Several are cleaned as one corpus."""
    source: OptionalFile = None
    """Or two text files: source sentences, one per line."""
    target: OptionalFile = None
    """Translations of --source, line by line."""
    output: OptionalOutput = None
    """File for the pairs that are kept: .tsv or .tsv.gz. Without it, only the report is printed."""
    report: OptionalFile = None
    """Also write the report to this file, as JSON."""
    held_out: SeveralFiles = ()
    """Validation and test sets, as pairs or plain text: drop pairs that contain one of their sentences."""
    source_language: OptionalLanguage = None
    """Such as en; by default from the file name."""
    target_language: OptionalLanguage = None
    """Such as de; by default from the file name."""
    processes: int = 0
    """Number of processes; 0 for one per core."""
    settings: Annotated[CleanSettings, Flag(name="")] = field(default_factory=CleanSettings)


def main(arguments: list[str]) -> None:
    command = read_options(
        Clean,
        arguments,
        prog="qkv clean",
        common=COMMON,
        description="Drop pairs that are duplicates, in another language, misaligned, damaged or in a test set, "
        "and report what was dropped, with examples.",
    )
    check_options(command)
    from qkv.corpus.clean import Languages, clean
    from qkv.corpus.held_out import read_held_out
    from qkv.corpus.judge import usable_cores
    from qkv.progress.terminal import count_progress

    source, target = languages_of(command)
    with open_output(command.output) as write:
        report = clean(
            corpus_in(command, source, target),
            command.settings,
            Languages(source=source, target=target),
            held_out=read_held_out(command.held_out, source, target),
            write=write,
            processes=command.processes or usable_cores(),
            progress=lambda what, total: count_progress(what, total, lines=True),
        )
        if not report.kept:  # nothing is written
            raise QkvError("no pairs are left: check the languages, and that the two sides belong together.")
    if command.report is not None:
        from qkv.corpus.output import new_file

        with new_file(command.report) as file:
            file(json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    show(report)


def check_options(command: Clean) -> None:
    check_clean(command.settings)
    two = [command.source is not None, command.target is not None]
    if any(two) != all(two) or bool(command.pairs) == all(two):
        raise QkvError("give the corpus: either --pairs, or both --source and --target.")
    for path in (*command.pairs, command.source, command.target):
        if path is not None and path.exists() and not path.is_file() and not path.is_dir():
            raise QkvError(
                f"{path} is not a regular file. A corpus is read several times: write it to a file first."
            )
    if command.processes < 0:
        raise QkvError("--processes must not be negative.")
    read = {
        path.resolve() for path in (*command.pairs, *command.held_out, command.source, command.target) if path
    }
    for option, path in (("--output", command.output), ("--report", command.report)):
        if path is None:
            continue
        check_output(option, path)
        if path.resolve() in read:
            raise QkvError(f"{option} would overwrite the input {path}: give another name.")
    if command.output is not None and not command.output.name.lower().endswith((".tsv", ".tsv.gz")):
        raise QkvError(f"--output {command.output} must end in .tsv or .tsv.gz.")


def languages_of(command: Clean) -> tuple[str | None, str | None]:
    """The given languages, or those in the file names: train.en and train.de, or train.en-de.tsv."""
    from qkv.corpus.records import languages_in_name

    found: tuple[str | None, str | None] = (None, None)
    if command.source is not None and command.target is not None:
        found = language_of(command.source), language_of(command.target)
    elif command.pairs:
        found = languages_in_name(command.pairs[0])
    source, target = command.source_language or found[0], command.target_language or found[1]
    if command.settings.language_confidence and (source is None or target is None):
        raise QkvError(
            "the languages are unknown: give --source-language and --target-language, "
            "or skip the check with --language-confidence 0."
        )
    return source, target


def corpus_in(command: Clean, source: str | None, target: str | None) -> Corpus:
    from qkv.corpus.records import corpus_of, corpus_of_two

    if command.source is not None and command.target is not None:
        return corpus_of_two(command.source, command.target)
    return corpus_of(command.pairs, source, target)


def open_output(path: Path | None) -> AbstractContextManager[Callable[[Record], object]]:
    if path is None:
        return nullcontext(lambda _record: None)
    from qkv.corpus.output import new_records

    return new_records(path)


def show(report: CleanReport) -> None:
    from rich.console import Console

    from qkv.progress.terminal import escape_markup

    console = Console(file=sys.stdout, highlight=False, emoji=False)
    console.print(f"kept {report.kept:,} of {report.total:,} pairs ({share(report.kept, report.total)})")
    for reason, count in report.dropped.items():
        console.print()
        console.print(f"[bold]{reason}[/bold]: {count:,} ({share(count, report.total)})")
        for source, target in report.examples[reason]:
            for text in (source, target):
                console.print(f"  {escape_markup(shorten(text))}", soft_wrap=True, style="dim")


def share(count: int, total: int) -> str:
    return f"{100 * count / max(1, total):.2f} %"


def shorten(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
