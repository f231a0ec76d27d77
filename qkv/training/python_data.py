"""Data that a Python program gives for training: paths are used as they are, everything else is written to files once.

From then on the run is like one of the command line: helper processes read the files, and a run that was killed resumes.
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import make_folders
from qkv.checkpoint.run_folder import RUN_FILE
from qkv.data.origins import PYTHON_DATA
from qkv.errors import QkvError

Values = dict[str, Any]
"""Inputs by name."""
Writer = Callable[[Path, Values], Values]
"""Writes data into a folder and returns the inputs that name its files. It gets the inputs that are known so far."""


@dataclass(frozen=True, kw_only=True)
class GivenData:
    values: Values = field(default_factory=dict)
    writers: tuple[Writer, ...] = ()

    def with_writer(self, writer: Writer) -> GivenData:
        return GivenData(values=self.values, writers=(*self.writers, writer))

    def write(self, folder: Path) -> Values:
        values = dict(self.values)
        for writer in self.writers:
            values |= writer(folder, values)
        return values


@contextmanager
def write_data(data: GivenData, out: Path, *, resumes: bool) -> Iterator[Values]:
    """The inputs of a run, with its data in the run folder. If the run does not start, nothing is left there.

    For a run that is resumed, the data must be what was written before.
    """
    folder = out / "training" / PYTHON_DATA
    if not data.writers:
        yield dict(data.values)
    elif resumes:
        yield write_again(data, folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)  # of a start that was killed
        make_folders(folder)
        try:
            yield data.write(folder)
        finally:
            if not (folder.parent / RUN_FILE).exists():
                shutil.rmtree(folder, ignore_errors=True)


def write_again(data: GivenData, folder: Path) -> Values:
    again = folder.with_name(f"{folder.name}-again")
    shutil.rmtree(again, ignore_errors=True)
    make_folders(again)
    try:
        values = data.write(again)
        if not folder.is_dir():  # it was started with other files, whose content is compared later
            again.rename(folder)
        elif not same_files(again, folder):
            raise QkvError("the data changed since the run was started. Resume with the same data.")
    finally:
        shutil.rmtree(again, ignore_errors=True)
    return {name: move_path(value, again, folder) for name, value in values.items()}


def move_path(value: Any, old: Path, new: Path) -> Any:
    if isinstance(value, tuple):
        return tuple(move_path(each, old, new) for each in value)
    inside = isinstance(value, Path) and value.is_relative_to(old)
    return new / value.relative_to(old) if inside else value


def same_files(one: Path, other: Path) -> bool:
    names = [
        {str(path.relative_to(each)) for path in each.rglob("*") if path.is_file()} for each in (one, other)
    ]
    if names[0] != names[1]:
        return False
    _, different, failed = filecmp.cmpfiles(one, other, sorted(names[0]), shallow=False)
    return not different and not failed


def take(given: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    """Some of the values that are given, or None for each."""
    return tuple(given.get(name) for name in names)
