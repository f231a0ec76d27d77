"""A folder of parts: files of arrays that are complete or absent. Several processes may fill it together."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from qkv.checkpoint.arrays import StoredArrays, write_arrays
from qkv.checkpoint.files import make_folders
from qkv.errors import DataError
from qkv.prepared.place import Say

LOCK_FILE = "lock"
WHOLE = 2**40  # the byte of the lock file that stands for the folder; a part has the byte of its number
SAY_EVERY = 10.0  # seconds between two lines of progress


class Parts:
    """Files `NAME-00000.safetensors`, `NAME-00001.safetensors` … in a folder."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.name = folder, name

    def path(self, number: int) -> Path:
        return self.folder / f"{self.name}-{number:05d}.safetensors"

    def open(self, number: int) -> StoredArrays:
        """The arrays of a part. They are compared with their hash before the first one is handed out."""
        return StoredArrays(self.path(number))

    def content_hash(self, number: int) -> str | None:
        """The hash of an intact part; None if it is absent or damaged."""
        try:
            part = self.open(number)
            part.verify()
        except DataError:
            return None
        return part.content_hash

    def write(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        write_arrays(self.path(number), arrays)

    def fill(self, numbers: Iterable[int], make: Callable[[int], Mapping[str, NDArray[Any]]]) -> None:
        """Make the parts that are absent or damaged. Parts that another process makes are awaited, not made twice."""
        missing = [number for number in numbers if self.content_hash(number) is None]
        make_folders(self.folder)
        for wait in (False, True):  # first those that nobody makes, then those of processes that have ended
            for number in missing:
                with reserve(self.folder, number, wait=wait) as mine:
                    if mine and self.content_hash(number) is None:
                        self.write(number, make(number))


@contextmanager
def reserve(folder: Path, number: int = WHOLE, *, wait: bool) -> Iterator[bool]:
    """Hold a part of a folder, or all of it. Yields whether this process has it.

    The lock ends with the process. Without locks, on Windows, two processes may do the same work; files stay complete.
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    with open(folder / LOCK_FILE, "a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, number, os.SEEK_SET)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, number, os.SEEK_SET)


class Pace:
    """Says how far a long task is, every few seconds."""

    def __init__(self, say: Say, sentence: str, now: Callable[[], float] = time.monotonic):
        self.say, self.sentence, self.now = say, sentence, now
        self.said = now()

    def __call__(self, count: int) -> None:
        if self.now() - self.said >= SAY_EVERY:
            self.said = self.now()
            self.say(self.sentence.format(count))
