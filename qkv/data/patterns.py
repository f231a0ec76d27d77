"""Names of files with patterns, such as `shards/*.tsv.gz`."""

from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path

from qkv.errors import DataError


def files_matching(path: Path) -> list[Path]:
    """The file itself, or those that its name matches, in the order of their names. `**` matches folders at any depth."""
    if path.exists() or not has_magic(str(path)):
        return [path]
    found = sorted(Path(each) for each in glob(str(path), recursive=True))
    if not found:
        raise DataError(f"no file matches {path}: check the pattern, and quote it for the shell.")
    return found


def all_matching(paths: Sequence[Path]) -> list[Path]:
    return [file for path in paths for file in files_matching(path)]
