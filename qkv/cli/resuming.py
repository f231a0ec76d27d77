"""`qkv train --resume`: find the run and its options."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from qkv.api.resuming import resumed_command, run_file, stored_command
from qkv.cli import program
from qkv.cli.fields import names_in
from qkv.cli.training_options import OUTPUT, flag_of, output_in, parse
from qkv.errors import QkvError
from qkv.training.command import Command
from qkv.training.trainable import Trainable


def can_resume(arguments: list[str]) -> bool:
    """Is there a run to resume? Without one, --resume starts it."""
    return "--resume" in arguments and run_file(output_in(arguments)).is_file()


def check_can_start(trainable: Trainable, arguments: list[str]) -> None:
    """The same command starts and resumes a run, but a misspelled folder must not start one."""
    of_any_run = {
        "--resume",
        *OUTPUT,
        "--tensorboard",
        "--data-cache",
        "--processes",
        "--precision",
        "--validate-every",
    }
    given = names_in(arguments) - of_any_run
    wanted = {flag_of(name) for name in trainable.starts_with}
    if not given or (wanted and not wanted & given):
        raise QkvError(
            f"no run found in {output_in(arguments)}. Check the folder, or name the training data to start a new run."
        )


def read_resumed(trainable: Trainable, arguments: list[str]) -> Command:
    """Take all options from the run, and compare those that are given again."""
    before = stored_command(trainable, output_in(arguments))
    given = [each for each in arguments if each != "--resume"]
    return resumed_command(before, parse(trainable, given, replace(before, resume=False)))


def resume_command(trainable: Trainable, out: Path) -> str:
    """The command that resumes a run, for the user to paste."""
    return f"{program()} train {trainable.name} --resume --output {shlex.quote(str(out))}"
