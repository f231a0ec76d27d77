"""`qkv train --resume`: find the run and its options."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from qkv.cli import program
from qkv.cli.fields import names_in
from qkv.cli.training_options import OUTPUT, Command, command_type, flag_of, output_in, parse, with_training
from qkv.configs import changed_paths, from_dict
from qkv.errors import QkvError
from qkv.training.extension import current_settings, raised_limits
from qkv.training.settings import TuningSettings
from qkv.training.trainable import Trainable


def run_file(out: Path) -> Path:
    return out / "training" / "run.json"


def can_resume(arguments: list[str]) -> bool:
    """Is there a run to resume? Without one, --resume starts it."""
    return "--resume" in arguments and run_file(output_in(arguments)).is_file()


def check_can_start(trainable: Trainable, arguments: list[str]) -> None:
    """The same command starts and resumes a run, but a misspelled folder must not start one."""
    of_any_run = {"--resume", *OUTPUT, "--tensorboard", "--processes", "--precision", "--validate-every"}
    given = names_in(arguments) - of_any_run
    wanted = {flag_of(name) for name in trainable.starts_with}
    if not given or (wanted and not wanted & given):
        raise QkvError(
            f"no run found in {output_in(arguments)}. Check the folder, or name the training data to start a new run."
        )


def read_resumed(trainable: Trainable, arguments: list[str]) -> Command:
    """Take all options from the run. Options that are given again must not differ, except for paths of data and for
    limits on steps and minutes that are higher than before."""
    before = read_stored(trainable, output_in(arguments))
    given = [each for each in arguments if each != "--resume"]
    command = parse(trainable, given, replace(before, resume=False))
    before, command = with_free_settings(before, command)
    before = with_raised_limits(before, command)
    both = zip(comparable(before), comparable(command), strict=True)
    changed = sorted({flag_of(path[-1]) for then, now in both for path in changed_paths(then, now)})
    if changed:
        raise QkvError(
            f"a resumed run keeps its options, but these differ: {', '.join(changed)}. Only --steps and --minutes may "
            "be higher than before."
        )
    return replace(before, tensorboard=command.tensorboard, inputs=command.inputs)


def read_stored(trainable: Trainable, out: Path) -> Command:
    """The command that started the run."""
    from qkv.checkpoint.files import read_sealed

    stored = read_sealed(run_file(out))
    if "files" not in stored:
        raise QkvError(f"{out} holds a run of `qkv demo`, which cannot be resumed. Start the demo again.")
    if stored.get("kind") != trainable.name:
        raise QkvError(f"{out} holds a run of `qkv train {stored.get('kind')}`. Resume it with that command.")
    command: Command = command_type(trainable)(
        inputs=trainable.inputs.from_stored(stored["files"]),
        output=out,
        recipe=stored["recipe"],
        resume=True,
        tensorboard=stored.get("tensorboard", False),
        settings=from_dict(trainable.settings, current_settings(stored), str(run_file(out))),
    )
    return command


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
    from qkv.checkpoint.files import read_sealed

    hashes: dict[str, str] = read_sealed(run_file(out))["data"]
    return hashes


def comparable(command: Command) -> list[dict[str, Any]]:
    """What must not change. A file may have moved; the hash of its content is checked elsewhere."""
    inputs = {name: without_paths(value) for name, value in vars(command.inputs).items()}
    return [{"recipe": command.recipe}, inputs, asdict(command.settings)]


def without_paths(value: Any) -> Any:
    """Replace paths by whether there are any."""
    return bool(value) if isinstance(value, Path | tuple) else value


def resume_command(trainable: Trainable, out: Path) -> str:
    """The command that resumes a run, for the user to paste."""
    return f"{program()} train {trainable.name} --resume --output {shlex.quote(str(out))}"


def inputs_of_run(arguments: list[str]) -> set[str]:
    """Names of the inputs of the run that is resumed."""
    from qkv.checkpoint.files import read_sealed

    return {
        name for name, value in read_sealed(run_file(output_in(arguments))).get("files", {}).items() if value
    }
