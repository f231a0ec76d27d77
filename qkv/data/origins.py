"""What a report calls the data of a training run."""

from collections.abc import Sequence
from pathlib import Path

PYTHON_DATA = "python-data"
"""The folder in OUTPUT/training with the data that a Python program gave. Its files have names that the user never saw."""
MOST_NAMES = 3


def origin_of(paths: Sequence[Path], *, join: str = ", ") -> str:
    """The names of some files or folders, each once."""
    names = list(dict.fromkeys(name_of(path) for path in paths))
    more = len(names) - MOST_NAMES
    return join.join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def name_of(path: Path) -> str:
    return "Python data" if PYTHON_DATA in path.parts else path.resolve().name
