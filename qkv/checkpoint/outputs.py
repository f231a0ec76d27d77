"""Check where a result is to be written, before the work starts. Nothing is overwritten unless the user says so.

`option` is the name of the argument that holds the path.
"""

from collections.abc import Iterable
from pathlib import Path

from qkv.flags import OptionMessageError


def check_new_file(
    option: str, path: Path, *, overwrite: bool | None = None, inputs: Iterable[Path] = ()
) -> None:
    """Can this file be written? `inputs` must not be overwritten. None means that nothing can be."""
    wanted = f"{{{option}}}"
    if path.is_dir():
        raise OptionMessageError(f"{wanted} {{path}} is a folder: give a file name.", path=path)
    check_parents(option, path)
    if not path.parent.is_dir():
        raise OptionMessageError(
            f"there is no folder {{folder}}: create it, or give another {wanted}.", folder=path.parent
        )
    if path.exists() and path.resolve() in {each.resolve() for each in inputs}:
        raise OptionMessageError(
            f"{wanted} would overwrite the input {{path}}: give another name.", path=path
        )
    if path.exists() and not path.is_file():
        raise OptionMessageError(
            f"{wanted} {{path}} is not a regular file: give another {wanted}.", path=path
        )
    if (path.exists() or path.is_symlink()) and not overwrite:
        remedy = "" if overwrite is None else ", or add {overwrite=True}"
        raise OptionMessageError(f"{{path}} already exists: give another {wanted}{remedy}.", path=path)


def check_new_folder(option: str, path: Path) -> None:
    """Can this folder be made, or is it there and empty?"""
    check_folder_name(option, path)
    if path.exists() and any(path.iterdir()):
        raise OptionMessageError(f"{{path}} is not empty: give another {{{option}}}.", path=path)


def check_folder_name(option: str, path: Path) -> None:
    """Can this be a folder?"""
    if path.exists() and not path.is_dir():
        raise OptionMessageError(f"{{path}} is a file, not a folder: give another {{{option}}}.", path=path)
    check_parents(option, path)


def check_parents(option: str, path: Path) -> None:
    """No file may be in the place of a folder: `runs` in runs/en-de."""
    parents = (each for each in path.parents if each.exists() and not each.is_dir())
    for each in parents:
        raise OptionMessageError(f"{{path}} is a file, not a folder: give another {{{option}}}.", path=each)
