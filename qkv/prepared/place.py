"""Where prepared data are kept."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from qkv.checkpoint.run_folder import RUN_FILE

PREPARED = "prepared"  # in OUTPUT/training
Say = Callable[[str], None]


def say_nothing(line: str) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Place:
    folder: Path
    always: bool = False
    """Keep few data there, too. By default only those that are too large for memory."""
    verify: bool = True
    """Compare the files with their hashes; False for a process whose parent has just done so."""
    say: Say = say_nothing


@contextmanager
def place_for_run(out: Path, cache: Path | None, *, verify: bool, say: Say) -> Iterator[Place]:
    """The cache, if there is one, or a folder of the run. The latter is removed if the run does not start."""
    if cache is not None:
        yield Place(folder=cache, always=True, verify=verify, say=say)
        return
    folder = out / "training" / PREPARED
    try:
        yield Place(folder=folder, verify=verify, say=say)
    finally:
        if verify and not (folder.parent / RUN_FILE).exists():
            shutil.rmtree(folder, ignore_errors=True)
