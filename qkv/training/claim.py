"""Claim an output folder for one run, so that nothing is overwritten."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from qkv.checkpoint.files import make_folders
from qkv.checkpoint.outputs import check_folder_name
from qkv.checkpoint.run_folder import RUN_FILE
from qkv.checkpoint.state import LOCK_FILE, only_one_run, states_in
from qkv.errors import QkvError
from qkv.flags import OptionMessageError


@contextmanager
def claim_output(out: Path, *, resume: bool) -> Iterator[None]:
    """Hold OUT for one run. This is the only place that checks that nothing is overwritten.

    A command claims its folder before it reads the data, and tells `train` that it has done so.
    """
    folder = out / "training"
    check_folder_name("output", out)
    created = [path for path in (out, folder) if not path.exists()]
    make_folders(folder)
    with only_one_run(folder):
        try:
            if not resume:
                check_not_overwriting(out)
            yield
        finally:
            if not (folder / RUN_FILE).exists():
                remove_empty(created)


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that were created for a run which never started."""
    for folder in reversed(folders):
        (folder / LOCK_FILE).unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


def check_not_overwriting(out: Path) -> None:
    if (out / "training" / RUN_FILE).exists():
        raise OptionMessageError(
            "{out} already holds a training run: add {resume=True} to continue it, or give another {output}.",
            out=out,
        )
    if states_in(out / "training"):
        raise QkvError(
            f"{out / 'training'} holds checkpoints but no {RUN_FILE}. Restore that file, or choose another output folder."
        )
    if any(path.name != "training" for path in out.iterdir()):
        raise OptionMessageError("{out} is not empty: give another {output}.", out=out)
