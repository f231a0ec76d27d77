"""A file translated into another, in parts that are safe on the disk one by one."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import bytes_hash, canonical, held, read_json, sync_folder, write_json
from qkv.cli.pace import Pace
from qkv.cli.texts import decoded
from qkv.errors import UserError

LINES_OF_A_PART = 1_000  # at most

Done = Callable[[int], None]
Work = Callable[[int, list[str], Done], list[str]]
"""The number of the first line, lines, and whom to tell: lines of the output."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The content of OUTPUT.job."""

    job: str  # hash of the model, the options and the input
    lines: int  # of the input that are done
    bytes: int  # of the output that they gave

    def is_sane(self) -> bool:
        return all(type(count) is int and count >= 0 for count in (self.lines, self.bytes))


class FileJob:
    """Beside the output stand, while it is made, OUTPUT.part and OUTPUT.job, which says how far it has come."""

    def __init__(self, source: Path, output: Path, identity: dict[str, Any]):
        self.source, self.output = source, output
        if not source.is_file():
            raise UserError(
                f"{source} is a folder: give a file." if source.is_dir() else f"there is no file {source}."
            )
        if os.path.lexists(output):
            raise UserError(f"{output} exists already: remove it, or give another --output.")
        if not output.parent.is_dir():
            raise UserError(f"there is no folder {output.parent} for the output.")
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

    def run(self, work: Work) -> None:
        with held(self.part, f"another process is writing {self.output}: wait for it or stop it."):
            try:
                self.go_on(work)
            finally:
                if self.part.exists() and not self.note.exists():
                    self.part.unlink()  # no part was finished

    def go_on(self, work: Work) -> None:
        from qkv.cli.terminal import counting, say

        done, size = self.so_far()
        if done:
            say(f"{self.output} was begun before: {done:,} of {self.lines:,} lines are there already.")
        counted = counting("translating", self.lines, before=done, lines=True)
        with open(self.part, "ab") as file, counted as count:
            os.truncate(self.part, size)
            file.seek(size)
            for lines in lines_of(self.source, done):
                tell = Told(len(lines), count)
                file.write("".join(f"{line}\n" for line in work(done + 1, lines, tell.more)).encode("utf-8"))
                tell.rest()
                file.flush()
                os.fsync(file.fileno())
                done += len(lines)
                write_json(self.note, vars(Progress(job=self.identity, lines=done, bytes=file.tell())))
        self.finish()

    def finish(self) -> None:
        """Give the output its name. Until that has worked, the part and the note stay, so that nothing is lost."""
        if os.path.lexists(self.output):
            raise UserError(
                f"{self.output} was created by something else while this job ran, and is left as it is. The finished "
                f"result is in {self.part}: move {self.output} away and run the same command again."
            )
        os.rename(self.part, self.output)
        self.note.unlink(missing_ok=True)
        sync_folder(self.output.parent)

    def so_far(self) -> tuple[int, int]:
        """Lines of the input that are done, and bytes that they have become; nothing where the job is another."""
        if not self.part.exists() or self.part.stat().st_size == 0:
            self.note.unlink(missing_ok=True)  # of a job whose part is gone
        if not self.note.exists():
            return 0, 0
        progress = self.read_note()
        if progress.job != self.identity:
            raise UserError(
                f"{self.part} was begun with other options, another model or another file: remove it and "
                f"{self.note} to begin anew."
            )
        if self.part.stat().st_size < progress.bytes:
            raise UserError(f"{self.part} is shorter than {self.note} says: remove both to begin anew.")
        return progress.lines, progress.bytes

    def read_note(self) -> Progress:
        with suppress(UserError, TypeError):  # not JSON, not an object, or other keys
            progress = Progress(**read_json(self.note))
            if progress.is_sane() and progress.lines <= self.lines:
                return progress
        raise UserError(f"{self.note} is damaged: remove it and {self.part} to begin anew.")


class Told:
    """Counts lines of a part where pieces are told of: a long line has several, and one that is copied has none."""

    def __init__(self, lines: int, count: Done):
        self.left, self.count = lines, count

    def more(self, pieces: int) -> None:
        now = min(pieces, self.left)
        self.left -= now
        self.count(now)

    def rest(self) -> None:
        self.more(self.left)


def lines_of(path: Path, skip: int) -> Iterator[list[str]]:
    """The lines of a file behind the first ones, in parts."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    with file:
        numbered = islice(enumerate(file, 1), skip, None)
        for part in Pace(LINES_OF_A_PART).portions(numbered):
            yield [decoded(line.removesuffix(b"\n"), number, str(path)) for number, line in part]
