"""Translate one file with strings of a program."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import write_file, write_through
from qkv.checkpoint.outputs import check_new_file
from qkv.documents import Document, read_catalog
from qkv.errors import DataError, QkvError
from qkv.families.translator.files.answers import StoredAnswers
from qkv.families.translator.files.asking import Asking
from qkv.families.translator.files.languages import languages_for
from qkv.families.translator.files.outcome import Outcome
from qkv.families.translator.files.request import Request
from qkv.families.translator.files.translating import translate
from qkv.families.translator.files.withdrawing import write_exactly
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import FileOptions
from qkv.families.translator.pipeline import Pipeline
from qkv.families.translator.recall import Recall
from qkv.runtime.file_job import rename_new

MOST_BYTES = 100_000_000  # a file is read as a whole


class CatalogJob:
    """One file. OUTPUT.job keeps what is translated while the job runs; the output appears when it is complete."""

    def __init__(
        self,
        source: Path,
        output: Path,
        format: str,
        identity: Mapping[str, Any],
        *,
        overwrite: bool = False,
    ):
        """`identity` is all that a translation depends on apart from its text."""
        self.source, self.output, self.format, self.overwrite = source, output, format, overwrite
        self.report = output.with_name(f"{output.name}.report.jsonl")
        self.stored = StoredAnswers(output.with_name(f"{output.name}.job"), identity)
        for path in (output, self.report):
            check_new_file("output", path, overwrite=overwrite, inputs=[source])

    def run(
        self,
        pipeline: Pipeline,
        lines: LineTranslation,
        files: FileOptions,
        *,
        recall: Recall | None = None,
        progress: bool = True,
    ) -> None:
        content = read_bytes(self.source)
        document = self.read(content, None, files)
        target, options = languages_for(self.source, document, pipeline, lines.options)
        document = self.read(content, target, files)
        source, _ = pipeline.defaults.languages.named()
        request = Request(options=options, source=source, target=target, recall=recall, files=files)
        with self.stored.opened(self.output):
            ask = Asking(pipeline, options, self.stored, progress)
            outcomes = self.translate(document, replace(lines, options=options), request, ask)
            exact = write_exactly(document, outcomes, lambda written: self.read(written, target, files))
            if exact is None:
                raise QkvError(
                    f"{self.source} cannot be written exactly. Nothing was written; please report this."
                )
            written, outcomes = exact
            records = [
                each.record(segment) for segment, each in zip(document.segments, outcomes, strict=True)
            ]
            report = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records)
            write_file(self.report, report.encode())
            self.place(written)
        if progress:
            self.say_what_was_done(outcomes)

    def translate(
        self, document: Document, lines: LineTranslation, request: Request, ask: Asking
    ) -> list[Outcome]:
        if self.stored.found and ask.progress:
            from qkv.progress.terminal import say

            say(f"resuming {self.output}: {len(self.stored.found):,} strings are done")
        try:
            return translate(document, lines, request, ask)
        except KeyboardInterrupt:
            if ask.progress:
                from qkv.progress.terminal import say

                say("What is translated is kept. Start the job again to resume it.")
            raise

    def read(self, content: bytes, target: str | None, files: FileOptions) -> Document:
        try:
            return read_catalog(self.format, content, target, files)
        except DataError as error:
            raise DataError(f"{self.source}: {error}") from None

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

        new = [each.new for each in outcomes if each.new and each.origin != "held"]
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
