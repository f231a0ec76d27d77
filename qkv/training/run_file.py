"""`run.json`: the settings and data that a run was started with. A resumed run must have the same."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import (
    bytes_hash,
    canonical,
    file_hash,
    read_sealed,
    seal,
    write_file,
    write_json,
)
from qkv.checkpoint.run_folder import RUN_FILE
from qkv.configs import changed_paths, from_dict
from qkv.errors import ProcessEndedError, QkvError
from qkv.training.arithmetic import arithmetic_of
from qkv.training.extension import current_settings, raised_limits
from qkv.training.product import ProductType
from qkv.training.settings import RunSettings
from qkv.training.task import Task


@contextmanager
def remove_on_error(folder: Path) -> Iterator[None]:
    """Remove the run file if the data turn out to be unusable: resuming would fail in the same way."""
    try:
        yield
    except ProcessEndedError:  # the data are not the cause
        raise
    except QkvError:
        (folder / RUN_FILE).unlink(missing_ok=True)
        raise


def write_run_file(folder: Path, task: Task[ProductType], remember: Mapping[str, Any]) -> None:
    """Write the files of the task, then run.json with all that a resumed run needs to know."""
    files = task.files()
    for name, content in files.items():
        write_file(folder / name, content)
    facts = {
        "settings": asdict(task.settings),
        "data": task.fingerprint(),
        "made": {name: file_hash(folder / name) for name in files},
        "arithmetic": arithmetic_of(task),
        **remember,
    }
    # Last: a run with this file can be resumed.
    write_json(folder / RUN_FILE, seal(facts))


def check_same_run(folder: Path, data: Mapping[str, str], settings: RunSettings) -> dict[str, Any]:
    """Compare data and settings with run.json, which another process or an earlier session wrote. Return its content."""
    if not (folder / RUN_FILE).exists():
        raise QkvError(
            f"{folder / RUN_FILE} is missing. Restore it. If several machines train, use the same output folder on all."
        )
    stored = read_sealed(folder / RUN_FILE)
    if "made" not in stored:
        raise QkvError(
            f"{folder.parent} was started by an earlier version of qkv. Resume it with that version."
        )
    other = [name for name, value in stored["data"].items() if data.get(name) != value]
    if other:
        raise QkvError(
            f"the data changed since the run was started: the {' and the '.join(other)}. Resume with the same files, on "
            "every machine."
        )
    before = comparable(asdict(from_dict(type(settings), current_settings(stored), str(folder / RUN_FILE))))
    now = comparable(asdict(settings))
    raised = {(name,) for name in raised_limits(before, now)}
    changed = [path for path in changed_paths(before, now) if path not in raised]
    if changed:
        names = ", ".join(path[-1] for path in changed)
        raise QkvError(
            f"the settings differ from those of the run in {folder.parent}: {names}. All processes and every resume must "
            "use the same; only a higher limit on steps or minutes is possible."
        )
    for name, wanted in stored["made"].items():
        if file_hash(folder / name) != wanted:
            raise QkvError(f"{folder / name} is damaged. Restore it from a copy or train again.")
    return stored


def run_identity(stored: Mapping[str, Any]) -> dict[str, str]:
    """Hashes that identify the states of a run. They are those of its start: neither an extension nor new settings of a
    later version change them."""
    return {"settings": bytes_hash(canonical(comparable(stored["settings"]))), **stored["data"]}


def comparable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as in JSON, without the device and the number of processes, which may change."""
    training = {
        name: value for name, value in settings["training"].items() if name not in ("processes", "device")
    }
    found: dict[str, Any] = json.loads(canonical({**settings, "training": training}))
    return found
