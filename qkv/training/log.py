"""The log of a run, in lines of JSON. A resumed run has the same lines as an uninterrupted one."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def open_file(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        yield handle
    finally:
        os.close(handle)


class Log:
    """A file that grows. Lines that could not be written wait for the next attempt.

    Lines that were written but could not be flushed are written again: the system may have dropped them and would still
    report the next flush as a success.
    """

    def __init__(self, path: Path):
        self.path = path
        self.reset()

    def reset(self) -> None:
        """Reset to an empty log."""
        self.bytes, self.hash, self.waiting = 0, hashlib.sha256(), b""
        self.mark_flushed()

    def mark_flushed(self) -> None:
        """Everything written so far is on disk."""
        self.flushed, self.unflushed = (self.bytes, self.hash.copy()), b""

    def requeue(self) -> None:
        """Queue the lines again that were not flushed."""
        self.bytes, self.hash = self.flushed[0], self.flushed[1].copy()
        self.waiting, self.unflushed = self.unflushed + self.waiting, b""

    def add(self, facts: Mapping[str, Any]) -> None:
        self.waiting += json.dumps(facts).encode() + b"\n"
        self.write()

    def write(self) -> None:
        if not self.waiting:
            return
        with open_file(self.path) as handle:
            os.ftruncate(handle, self.bytes)  # a failure may have left part of a line
            os.lseek(handle, self.bytes, os.SEEK_SET)
            while self.waiting:
                count = os.write(handle, self.waiting)
                written, self.waiting = self.waiting[:count], self.waiting[count:]
                self.hash.update(written)
                self.bytes, self.unflushed = self.bytes + count, self.unflushed + written

    def sync(self) -> dict[str, Any]:
        """Flush all lines to disk. Return the length of the file and its hash."""
        self.write()
        if self.bytes:
            try:
                with open_file(self.path) as handle:
                    os.fsync(handle)
            except OSError:
                self.requeue()
                raise
            self.mark_flushed()
        return {"bytes": self.bytes, "sha256": self.hash.hexdigest()}

    def cut_back(self, to: Mapping[str, Any]) -> str | None:
        """Remove the lines that were written after a state. Return a warning if the earlier ones have changed."""
        kept = self.path.read_bytes()[: to["bytes"]] if self.path.exists() else b""
        self.reset()
        self.bytes = len(kept)
        self.hash.update(kept)
        self.mark_flushed()
        if self.path.exists():
            os.truncate(self.path, self.bytes)
        if self.hash.hexdigest() != to["sha256"]:
            return f"{self.path} changed since the checkpoint was saved. Do not trust its earlier lines."
        return None
