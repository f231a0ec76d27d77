"""Find a run and its options, to resume it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.files import read_sealed
from qkv.checkpoint.run_folder import RUN_FILE
from qkv.configs import changed_paths, from_dict
from qkv.data.origins import PYTHON_DATA
from qkv.errors import QkvError
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.flags import OptionMessageError
from qkv.training.command import Command, command_type, fitting_trainable, with_training
from qkv.training.extension import current_settings, raised_limits
from qkv.training.settings import TuningSettings
from qkv.training.trainable import Inputs, Trainable


def run_file(out: Path) -> Path:
    return out / "training" / RUN_FILE


def trainable_of_run(out: Path) -> Trainable:
    """What the run in this folder trains."""
    stored = read_run(out)
    kinds = trainings()
    if stored.get("kind") not in kinds:
        raise QkvError(
            f"{out} holds a run of '{stored.get('kind')}', which this version of qkv does not know. It knows "
            f"{', '.join(kinds)}."
        )
    siblings: Sequence[Trainable] = resolve(kinds[stored["kind"]].trainables)
    return fitting_trainable(siblings, inputs_of_run(out))


def read_run(out: Path) -> dict[str, Any]:
    stored: dict[str, Any] = read_sealed(run_file(out))
    if "files" not in stored:
        raise QkvError(f"{out} holds a run of `qkv demo`, which cannot be resumed. Start the demo again.")
    return stored


def stored_command(trainable: Trainable, out: Path) -> Command:
    """The command that started the run."""
    stored = read_run(out)
    if stored.get("kind") != trainable.name:
        raise QkvError(f"{out} holds a run of `qkv train {stored.get('kind')}`. Resume it with that command.")
    command: Command = command_type(trainable)(
        inputs=relocated(trainable.inputs.from_stored(stored["files"]), out),
        output=out,
        recipe=stored["recipe"],
        resume=True,
        tensorboard=stored.get("tensorboard", False),
        data_cache=None if stored.get("data_cache") is None else Path(stored["data_cache"]),
        settings=from_dict(trainable.settings, current_settings(stored), str(run_file(out))),
    )
    return command


def relocated(inputs: Inputs, out: Path) -> Inputs:
    """The inputs of a run whose folder was moved, with the data that were written into it."""

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        if not isinstance(value, Path) or value.exists():
            return value
        own = out / "training" / PYTHON_DATA
        places = [
            own.joinpath(*value.parts[place + 1 :])
            for place, name in enumerate(value.parts)
            if name == PYTHON_DATA
        ]
        return next((place for place in places if place != own and place.exists()), value)

    return replace(inputs, **{name: moved(value) for name, value in vars(inputs).items()})  # type: ignore[type-var]


def resumed_command(before: Command, command: Command) -> Command:
    """The command that resumes the run `before`.

    Options that are given again must not differ, except for paths of data and for limits on steps and minutes that are
    higher than before.
    """
    before, command = with_free_settings(before, command)
    before = with_raised_limits(before, command)
    both = zip(comparable(before), comparable(command), strict=True)
    changed = sorted({path[-1] for then, now in both for path in changed_paths(then, now)})
    if changed:
        names = ", ".join(f"{{{name}}}" for name in changed)
        raise OptionMessageError(
            f"a resumed run keeps its options, but these differ: {names}. Only {{steps}} and {{minutes}} may be higher "
            "than before."
        )
    return replace(
        before, tensorboard=command.tensorboard, data_cache=command.data_cache, inputs=command.inputs
    )


def with_free_settings(before: Command, command: Command) -> tuple[Command, Command]:
    """Both commands with the settings that need not be the same as before, or that the run itself has chosen."""
    decided, wanted = before.settings.training, command.settings.training
    processes = wanted.processes or decided.processes  # may change
    precision = decided.precision if wanted.precision == "auto" else wanted.precision
    validate_every = wanted.validate_every
    if isinstance(before.settings, TuningSettings):  # it may have been lowered to fit the number of steps
        validate_every = min(validate_every, decided.validate_every)
    return (
        with_training(before, replace(decided, processes=processes)),
        with_training(
            command,
            replace(wanted, processes=processes, precision=precision, validate_every=validate_every),
        ),
    )


def with_raised_limits(before: Command, command: Command) -> Command:
    """The run with the limits that the command raises."""
    limits = asdict(command.settings)
    raised = {name: limits[name] for name in raised_limits(asdict(before.settings), limits)}
    return replace(before, settings=replace(before.settings, **raised))


def data_of_run(out: Path) -> dict[str, str]:
    """Hashes of the data that a run was started with."""
    hashes: dict[str, str] = read_sealed(run_file(out))["data"]
    return hashes


def inputs_of_run(out: Path) -> set[str]:
    """Names of the inputs of the run in this folder."""
    return {name for name, value in read_sealed(run_file(out)).get("files", {}).items() if value}


def comparable(command: Command) -> list[dict[str, Any]]:
    """What must not change. A file may have moved; the hash of its content is checked elsewhere."""
    inputs = {name: without_paths(value) for name, value in vars(command.inputs).items()}
    return [{"recipe": command.recipe}, inputs, asdict(command.settings)]


def without_paths(value: Any) -> Any:
    """Replace paths by whether there are any."""
    return bool(value) if isinstance(value, Path | tuple) else value
