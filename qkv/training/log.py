"""Lines of JSON about a run, of which a resumed run has neither more nor fewer than one that was never interrupted."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        yield handle
    finally:
        os.close(handle)


class Log:
    """A file that grows. Lines that a full disk refuses wait here for the next try, and those that it took but could
    not flush are written again: the system may have dropped them, and would call the next flush a success."""

    def __init__(self, path: Path):
        self.path = path
        self.forget()

    def forget(self) -> None:
        """As it was before the first line."""
        self.bytes, self.hash, self.waiting = 0, hashlib.sha256(), b""
        self.call_safe()

    def call_safe(self) -> None:
        """All that was written so far is on the disk."""
        self.safe, self.unsafe = (self.bytes, self.hash.copy()), b""

    def take_back(self) -> None:
        """What is not safe waits again."""
        self.bytes, self.hash = self.safe[0], self.safe[1].copy()
        self.waiting, self.unsafe = self.unsafe + self.waiting, b""

    def add(self, facts: Mapping[str, Any]) -> None:
        self.waiting += json.dumps(facts).encode() + b"\n"
        self.write()

    def write(self) -> None:
        if not self.waiting:
            return
        with opened(self.path) as handle:
            os.ftruncate(handle, self.bytes)  # a failure may have left part of a line
            os.lseek(handle, self.bytes, os.SEEK_SET)
            while self.waiting:
                count = os.write(handle, self.waiting)
                written, self.waiting = self.waiting[:count], self.waiting[count:]
                self.hash.update(written)
                self.bytes, self.unsafe = self.bytes + count, self.unsafe + written

    def sync(self) -> dict[str, Any]:
        """All lines are on the disk: how long the file is, and the hash of it."""
        self.write()
        if self.bytes:
            try:
                with opened(self.path) as handle:
                    os.fsync(handle)
            except OSError:
                self.take_back()
                raise
            self.call_safe()
        return {"bytes": self.bytes, "sha256": self.hash.hexdigest()}

    def cut_back(self, to: Mapping[str, Any]) -> str | None:
        """Forget the lines after those of a state; what is wrong with the ones before, if anything is."""
        kept = self.path.read_bytes()[: to["bytes"]] if self.path.exists() else b""
        self.forget()
        self.bytes = len(kept)
        self.hash.update(kept)
        self.call_safe()
        if self.path.exists():
            os.truncate(self.path, self.bytes)
        if self.hash.hexdigest() != to["sha256"]:
            return (
                f"{self.path} is not what it was when the run was saved: do not trust its lines up to here."
            )
        return None
