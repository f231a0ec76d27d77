"""A file translated into another, in parts that are safe on the disk one by one."""

import hashlib
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import bytes_hash, canonical, held, read_json, sync_folder, write_json
from qkv.cli.texts import decoded
from qkv.errors import UserError

LINES_OF_A_PART = 1_000

Done = Callable[[int], None]
Work = Callable[[int, list[str], Done], list[str]]
"""The number of the first line, lines, and whom to tell: lines of the output."""


class FileJob:
    """Beside the output stand, while it is made, OUTPUT.part and OUTPUT.job, which says how far it has come."""

    def __init__(self, source: Path, output: Path, identity: dict[str, Any]):
        self.source, self.output = source, output
        if not source.is_file():
            raise UserError(
                f"{source} is a folder: give a file." if source.is_dir() else f"there is no file {source}."
            )
        if output.exists():
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
                write_json(self.note, {"job": self.identity, "lines": done, "bytes": file.tell()})
        self.note.unlink(missing_ok=True)
        os.replace(self.part, self.output)
        sync_folder(self.output.parent)

    def so_far(self) -> tuple[int, int]:
        """Lines of the input that are done, and bytes that they have become; nothing where the job is another."""
        if not self.part.exists() or self.part.stat().st_size == 0:
            self.note.unlink(missing_ok=True)  # of a job whose part is gone
        if not self.note.exists():
            return 0, 0
        note = read_json(self.note)
        if self.part.stat().st_size < note["bytes"]:
            raise UserError(f"{self.part} is shorter than {self.note} says: remove both to begin anew.")
        if note["job"] != self.identity:
            raise UserError(
                f"{self.part} was begun with other options, another model or another file: remove it and "
                f"{self.note} to begin anew."
            )
        return note["lines"], note["bytes"]


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
        while part := list(islice(numbered, LINES_OF_A_PART)):
            yield [decoded(line.removesuffix(b"\n"), number, str(path)) for number, line in part]
