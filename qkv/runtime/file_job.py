"""Turn a file into another, line by line, in parts that are each safe on disk before the next."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import bytes_hash, canonical, lock_file, read_json, sync_folder, write_json
from qkv.checkpoint.outputs import check_new_file
from qkv.data.lines import decode_line
from qkv.errors import DataError, QkvError
from qkv.progress.delayed import count_progress
from qkv.runtime.pace import Pace
from qkv.runtime.running import silent

LINES_OF_A_PART = 1_000  # at most

Done = Callable[[int], None]
Work = Callable[[int, list[str], Done], list[str]]
"""From the number of the first line, the lines, and a progress callback to the output lines."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The content of OUTPUT.job."""

    job: str  # hash of the model, the options and the input
    lines: int  # input lines that are done
    bytes: int  # their output

    def is_valid(self) -> bool:
        return all(type(count) is int and count >= 0 for count in (self.lines, self.bytes))


class FileJob:
    """While a job runs, OUTPUT.part holds the lines so far and OUTPUT.job the progress."""

    def __init__(
        self,
        source: Path,
        output: Path,
        identity: dict[str, Any],
        *,
        overwrite: bool = False,
        what: str = "translating",
    ):
        """`identity` is all that the output depends on apart from the source. `what` names the work for the user."""
        self.source, self.output, self.overwrite, self.what = source, output, overwrite, what
        if not source.is_file():
            raise DataError(
                f"{source} is a folder: give a file." if source.is_dir() else f"there is no file {source}."
            )
        check_new_file("output", output, overwrite=overwrite, inputs=[source])
        self.part, self.note = (output.with_name(f"{output.name}.{end}") for end in ("part", "job"))
        digest, self.lines = hashlib.sha256(), 0
        with open(source, "rb") as file:
            last = b"\n"
            while block := file.read(1 << 20):
                digest.update(block)
                self.lines += block.count(b"\n")
                last = block[-1:]
        self.lines += last != b"\n"
        self.identity = bytes_hash(canonical({**identity, "input": digest.hexdigest()}))

    def run(self, work: Work, *, progress: bool = True) -> None:
        """Do what is left of the job. `progress` shows messages and a bar on standard error."""
        with lock_file(self.part, f"another process is writing {self.output}: wait for it or stop it."):
            try:
                self.resume(work, progress)
            except KeyboardInterrupt:
                self.say_how_to_resume(progress)
                raise
            finally:
                if self.part.exists() and not self.note.exists():
                    self.part.unlink()  # no part was finished

    def say_how_to_resume(self, progress: bool) -> None:
        done, _ = self.read_progress()
        if done and progress:
            from qkv.progress.terminal import say

            say(f"{done:,} of {self.lines:,} lines are done. Start the job again to resume it.")

    def resume(self, work: Work, progress: bool) -> None:
        done, size = self.read_progress()
        if done and progress:
            from qkv.progress.terminal import say

            say(f"resuming {self.output}: {done:,} of {self.lines:,} lines are done")
        shown = count_progress(self.what, self.lines, before=done, lines=True)
        counted: AbstractContextManager[Done] = shown if progress else nullcontext(silent)
        with open(self.part, "ab") as file, counted as count:
            os.truncate(self.part, size)
            file.seek(size)
            for lines in lines_of(self.source, done):
                counter = LineCounter(len(lines), count)
                file.write(
                    "".join(f"{line}\n" for line in work(done + 1, lines, counter.advance)).encode("utf-8")
                )
                counter.finish()
                file.flush()
                os.fsync(file.fileno())
                done += len(lines)
                write_json(self.note, vars(Progress(job=self.identity, lines=done, bytes=file.tell())))
        self.finish()

    def finish(self) -> None:
        """Rename the part to the output. If that fails, the part and the note stay, so nothing is lost."""
        if self.overwrite and not self.output.is_dir():
            os.replace(self.part, self.output)
        else:
            self.rename_part()
        self.note.unlink(missing_ok=True)
        sync_folder(self.output.parent)

    def rename_part(self) -> None:
        try:
            rename_new(self.part, self.output)
        except FileExistsError:
            raise QkvError(
                f"{self.output} was created by another program while this job ran, and was not replaced. The complete "
                f"result is in {self.part}: move {self.output} away and start the job again."
            ) from None

    def read_progress(self) -> tuple[int, int]:
        """Input lines that are done, and the bytes of their output."""
        if not self.part.exists() or self.part.stat().st_size == 0:
            self.note.unlink(missing_ok=True)  # its part is gone
        if not self.note.exists():
            return 0, 0
        progress = self.read_note()
        if progress.job != self.identity:
            raise QkvError(
                f"{self.part} was started with other options, another model or another input: remove it and "
                f"{self.note} to start again."
            )
        if self.part.stat().st_size < progress.bytes:
            raise DataError(f"{self.part} is shorter than {self.note} says: remove both to start again.")
        return progress.lines, progress.bytes

    def read_note(self) -> Progress:
        with suppress(QkvError, TypeError):  # not JSON, not an object, or other keys
            progress = Progress(**read_json(self.note))
            if progress.is_valid() and progress.lines <= self.lines:
                return progress
        raise DataError(f"{self.note} is damaged: remove it and {self.part} to start again.")


class LineCounter:
    """Counts the lines of a part. Progress comes in segments: a long line has several, a copied line has none."""

    def __init__(self, lines: int, count: Done):
        self.left, self.count = lines, count

    def advance(self, segments: int) -> None:
        now = min(segments, self.left)
        self.left -= now
        self.count(now)

    def finish(self) -> None:
        self.advance(self.left)


def rename_new(path: Path, name: Path) -> None:
    """Rename a file. If the new name exists, it is a FileExistsError; `os.rename` would replace the file."""
    try:
        os.link(path, name)
    except FileExistsError:
        raise
    except (
        OSError
    ):  # this file system has no hard links: another program may still come between these two lines
        if os.path.lexists(name):
            raise FileExistsError(name) from None
        os.rename(path, name)
    else:
        path.unlink()


def lines_of(path: Path, skip: int) -> Iterator[list[str]]:
    """The lines of a file after the first `skip`, in parts."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    with file:
        numbered = islice(enumerate(file, 1), skip, None)
        for part in Pace(LINES_OF_A_PART).portions(numbered):
            yield [decode_line(line.removesuffix(b"\n"), number, str(path)) for number, line in part]
