"""The crash-safe training state: `OUT/training/step-N/` is complete and verified, or does not exist.

A state is written to `.tmp-step-N/`: each file is flushed to disk, MANIFEST.json with their hashes last. Then the
folder is flushed and renamed, and its parent is flushed. The files are read from disk and compared with the manifest
before older states are deleted. When loading, a state that does not match its manifest is skipped for an earlier one.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from qkv.checkpoint.files import (
    bytes_hash,
    file_hash,
    json_bytes,
    lock_file,
    make_folders,
    read_json,
    read_sealed,
    seal,
    sync_folder,
    write_through,
)
from qkv.checkpoint.run_folder import state_folder
from qkv.checkpoint.tensors import read_tensors, tensor_bytes
from qkv.errors import DataError, QkvError

KEPT = 2
MANIFEST = "MANIFEST.json"
FACTS = "state.json"
LOCK_FILE = "lock"


@dataclass(frozen=True, kw_only=True)
class State:
    step: int
    run: Mapping[str, str]  # hashes of what the run was started with: its settings, its data
    facts: dict[str, Any]  # everything except tensors
    tensors: dict[str, dict[str, Tensor]]  # file name without extension -> tensors


def save_state(folder: Path, state: State) -> None:
    """Save a state. An OSError means that it could not be saved; earlier ones are untouched."""
    make_folders(folder)
    final = state_folder(folder, state.step)
    # A run that was resumed and stopped at once has already saved this step.
    if not (final.exists() and not damage(final) and read_sealed(final / MANIFEST)["run"] == state.run):
        place(folder, final, state)
    sync_folder(folder)
    fault = damage(final, from_the_disk=True)
    if fault:
        shutil.rmtree(final, ignore_errors=True)
        raise OSError(f"the disk does not hold what was written: {fault}")
    prune(folder, state.step)


def place(folder: Path, final: Path, state: State) -> None:
    shutil.rmtree(final, ignore_errors=True)
    remove_half_written(folder)
    temporary = folder / f".tmp-{final.name}"
    try:
        fill(temporary, state)
        temporary.rename(final)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)  # free the space: the disk may be full
        raise


def fill(folder: Path, state: State) -> None:
    folder.mkdir()
    hashes = {}
    for name, tensors in state.tensors.items():
        hashes[f"{name}.safetensors"] = write_hashed(folder / f"{name}.safetensors", tensor_bytes(tensors))
    hashes[FACTS] = write_hashed(folder / FACTS, json_bytes(state.facts))
    write_through(folder / MANIFEST, json_bytes(seal({"files": hashes, "run": dict(state.run)})))
    sync_folder(folder)


def write_hashed(path: Path, content: bytes) -> str:
    write_through(path, content)
    return bytes_hash(content)


def load_latest(folder: Path, run: Mapping[str, str]) -> tuple[State | None, list[str]]:
    """The newest usable state of this run, and a warning for each later one that cannot be used."""
    warnings: list[str] = []
    found = states_in(folder)
    for path in reversed(found):
        try:
            return read_state(path, run), warnings
        except QkvError as error:
            warnings.append(f"skipped a checkpoint: {error}")
    if found:
        raise DataError(
            f"none of the checkpoints in {folder} can be used: {' '.join(warnings)} "
            "Restore one from a copy, or train again in another output folder."
        )
    return None, warnings


def read_state(path: Path, run: Mapping[str, str]) -> State:
    fault = damage(path)
    if fault:
        raise DataError(fault)
    manifest = read_sealed(path / MANIFEST)
    of_state = manifest["run"]
    other = [name for name, value in run.items() if of_state.get(name) != value]
    if other:
        raise DataError(f"{path} belongs to a run with different {' and '.join(other)}.")
    files = [path / name for name in manifest["files"] if name != FACTS]
    tensors = {file.stem: read_tensors(file) for file in files}
    return State(step=step_of(path), run=of_state, facts=read_json(path / FACTS), tensors=tensors)


def damage(path: Path, *, from_the_disk: bool = False) -> str | None:
    """What is wrong with a state on disk, or None if every file matches the manifest. Other files are ignored."""
    try:
        for name, wanted in read_sealed(path / MANIFEST, from_the_disk=from_the_disk)["files"].items():
            file = path / name
            if not file.is_file() or file_hash(file, from_the_disk=from_the_disk) != wanted:
                return f"{path / name} does not match its manifest."
    except QkvError as error:
        return str(error)
    except OSError as error:
        return f"{path} cannot be read ({error})."
    return None


@contextmanager
def only_one_run(folder: Path) -> Iterator[None]:
    """Lock a run folder. The lock ends with the block or the process; other threads cannot take it either."""
    with lock_file(folder / LOCK_FILE, f"another run uses {folder.parent}. Wait for it or stop it."):
        yield


def set_aside_after(folder: Path, step: int) -> None:
    """Rename the states that were skipped to `damaged-step-N`."""
    for path in states_in(folder):
        if step_of(path) > step:
            aside = path.with_name(f"damaged-{path.name}")
            shutil.rmtree(aside, ignore_errors=True)
            path.rename(aside)


def prune(folder: Path, newest: int) -> None:
    """Delete all but the last states up to this one. Later ones are not from this run."""
    for path in [path for path in states_in(folder) if step_of(path) <= newest][:-KEPT]:
        with suppress(OSError):
            shutil.rmtree(path)


def remove_half_written(folder: Path) -> None:
    """Remove what an interrupted save left behind."""
    for path in folder.glob(".tmp-step-*"):
        shutil.rmtree(path, ignore_errors=True)


def states_in(folder: Path) -> list[Path]:
    """Oldest first. Other names, such as a user's own copy of a state, are ignored."""
    return sorted((path for path in folder.glob("step-*") if path.name[5:].isdecimal()), key=step_of)


def step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))
