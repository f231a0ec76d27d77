"""The crash-safe training state: `OUT/training/step-N/`, complete and verified, or not there at all.

A state is written to `.tmp-step-N/`, each file flushed to the disk, MANIFEST.json with their hashes last,
then renamed in one step. On reading, a state whose manifest does not hold is passed over for the one before.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from qkv.checkpoint.files import read_json, read_tensors, sync_folder, write_json, write_tensors
from qkv.errors import UserError

KEPT = 2
MANIFEST = "MANIFEST.json"


@dataclass(frozen=True, kw_only=True)
class State:
    step: int
    facts: dict[str, Any]  # everything that is not a tensor
    tensors: dict[str, dict[str, Tensor]]  # file name without its ending -> tensors


def save_state(folder: Path, state: State) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    temporary, final = folder / f".tmp-step-{state.step}", folder / f"step-{state.step}"
    if final.exists():  # this step was saved before: a run that was resumed and stopped at once
        if not damage(final):
            return
        shutil.rmtree(final)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    for name, tensors in state.tensors.items():
        write_tensors(temporary / f"{name}.safetensors", tensors)
    write_json(temporary / "state.json", state.facts)
    write_json(temporary / MANIFEST, {path.name: file_hash(path) for path in sorted(temporary.iterdir())})
    temporary.rename(final)
    sync_folder(folder)
    prune(folder, state.step)


def load_latest(folder: Path) -> tuple[State | None, list[str]]:
    """The newest whole state, and a sentence for each damaged one that was passed over."""
    warnings: list[str] = []
    for path in reversed(states_in(folder)):
        try:
            return read_state(path), warnings
        except UserError as error:
            warnings.append(f"passed over a damaged checkpoint: {error}")
    return None, warnings


def read_state(path: Path) -> State:
    fault = damage(path)
    if fault:
        raise UserError(fault)
    tensors = {file.stem: read_tensors(file) for file in path.glob("*.safetensors")}
    return State(step=step_of(path), facts=read_json(path / "state.json"), tensors=tensors)


def damage(path: Path) -> str | None:
    """What is wrong with a state on disk, or None where every file matches the manifest."""
    try:
        manifest = read_json(path / MANIFEST)
    except UserError as error:
        return str(error)
    if not isinstance(manifest, dict):
        return f"{path / MANIFEST} is no manifest."
    for name, wanted in manifest.items():
        if not (path / name).is_file() or file_hash(path / name) != wanted:
            return f"{path / name} does not match its manifest."
    return None


@contextmanager
def only_one_run(folder: Path) -> Iterator[None]:
    """Keep a second process out of a run folder; the lock goes with the process, however it ends."""
    with open(folder / "lock", "w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows
            pass
        except BlockingIOError:
            raise UserError(
                f"another process is training in {folder.parent}: wait for it or stop it."
            ) from None
        yield


def prune(folder: Path, newest: int) -> None:
    """Keep the last states up to this one. Any later one is damaged: it was passed over, and will be replaced."""
    for path in [path for path in states_in(folder) if step_of(path) <= newest][:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def states_in(folder: Path) -> list[Path]:
    """Oldest first. Another name, such as a person's own copy of a state, is none of ours."""
    return sorted((path for path in folder.glob("step-*") if path.name[5:].isdecimal()), key=step_of)


def step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def file_hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
