"""`qkv train`: start or resume a run of any family."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qkv.cli.fields import fields_given, value_at, with_values
from qkv.cli.help import HELP_ALL, wants_help
from qkv.cli.resuming import (
    can_resume,
    check_can_start,
    data_of_run,
    read_resumed,
    resume_command,
    run_file,
)
from qkv.cli.training_choice import check_options, choose_trainable
from qkv.cli.training_options import (
    Command,
    fields_of,
    help_defaults,
    nominal_command,
    option_value,
    parse,
    with_training,
)
from qkv.environment import is_helper, under_torchrun
from qkv.errors import QkvError
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.training.settings import find_recipe
from qkv.training.trainable import Setup, Trainable

if TYPE_CHECKING:
    from qkv.progress.terminal import TrainingDisplay
    from qkv.training.runs import Outcome
    from qkv.training.task import Task
    from qkv.training.watch import Watch


def main(name: str, arguments: list[str]) -> None:
    # Must be set before torch is imported: large tensors then use huge pages, which is faster.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    siblings: tuple[Trainable, ...] = resolve(trainings()[name].trainables)
    trainable = choose_trainable(siblings, arguments)
    if wants_help(arguments):
        parse(
            trainable, [HELP_ALL if HELP_ALL in arguments else "--help"], help_defaults(trainable, arguments)
        )
    check_options(trainable, siblings, arguments)
    if can_resume(arguments):
        command = read_resumed(trainable, arguments)
        train(trainable, command, arguments, given=frozenset())
        return
    if "--resume" in arguments:
        check_can_start(trainable, arguments)
    new = [each for each in arguments if each != "--resume"]
    default = nominal_command(trainable, option_value(arguments, "--recipe"))
    command = parse(trainable, new, default)
    if "--resume" in arguments and not is_helper():
        say(f"no run found in {command.output}; starting a new one")
    given = {field.path[1:]: field for field in fields_given(fields_of(trainable, default), new)}
    train(trainable, command, arguments, given=frozenset(path for path in given if path))


def train(
    trainable: Trainable, command: Command, arguments: list[str], *, given: frozenset[tuple[str, ...]]
) -> None:
    from qkv.training.claim import claim_output
    from qkv.training.distributed import shared_run

    if command.tensorboard:
        from qkv.cli.tensorboard import summary_writer

        summary_writer()  # fails now, not after the run has started, if it is not installed
    with nullcontext() if is_helper() else claim_output(command.output, resume=command.resume):
        data = command.inputs.read(command.settings, say)
        again = command.inputs.can_be_read_again()
        if not again and under_torchrun():
            raise QkvError("under torchrun every process reads the data: give files or a folder, not a pipe.")
        if not command.resume:
            command = apply_recipe(trainable, command, given, data.amount, again=again)
        elif not again:
            command = with_training(command, replace(command.settings.training, processes=1))
        with shared_run(["train", trainable.name, *arguments], command.settings.training.processes) as group:
            setup = Setup(
                group=group,
                given=frozenset(path[-1] for path in given),
                say=say,
                data_before=data_of_run(command.output) if command.resume else {},
            )
            outcome = run(trainable, command, data, setup)
    if is_helper():
        sys.exit(outcome.exit_code)
    if outcome.report is None:
        how = "stopped and saved" if outcome.saved else "stopped without saving; the last checkpoint is older"
        say(f"{how}. To resume: {resume_command(trainable, command.output)}")
        sys.exit(outcome.exit_code)
    from qkv.cli.training_summary import summarize

    summarize(trainable, outcome.report, command.output)


def apply_recipe(
    trainable: Trainable, command: Command, given: frozenset[tuple[str, ...]], amount: int, *, again: bool
) -> Command:
    """Apply the recipe for this amount of data, then the options that the user gave."""
    from qkv.training.distributed import processes_for

    recipe = find_recipe(command.recipe, trainable.recipes(command))
    known = {field.path[1:] for field in fields_of(trainable) if field.path[0] == "settings"}
    settings: Any = with_values(
        recipe(amount), {path: value_at(command.settings, path) for path in given & known}
    )
    if ("minutes",) in given and ("steps",) not in given:
        settings = replace(settings, steps=None)
    settings.check()
    training = settings.training
    if settings.steps is not None and ("training", "validate_every") not in given:
        training = replace(training, validate_every=max(1, min(training.validate_every, settings.steps // 4)))
    if under_torchrun() and ("training", "processes") in given:
        raise QkvError("torchrun sets the number of processes: leave out --processes.")
    processes = processes_for(training.processes, training.batch_tokens) if again else 1
    return with_training(replace(command, settings=settings), replace(training, processes=processes))


def run(trainable: Trainable, command: Command, data: Any, setup: Setup) -> Outcome[Any]:
    from qkv.progress.terminal import TrainingDisplay
    from qkv.training.runs import train as train_task

    make_task: Callable[..., Task[Any]] = resolve(trainable.task)
    task = make_task(data, command.inputs, command.settings, setup)
    with (
        TrainingDisplay(task.example(), task.unit) as display,
        print_resume_command(trainable, command.output),
    ):
        return train_task(
            task,
            command.output,
            watch=partial(make_watch, command, display),
            group=setup.group,
            resume=command.resume,
            remember={
                "kind": trainable.name,
                "files": command.inputs.to_stored(),
                "recipe": command.recipe,
                "tensorboard": command.tensorboard,
            },
        )


def make_watch(command: Command, display: TrainingDisplay, product: Any) -> Watch:
    watch = display.watch(product)
    if not command.tensorboard:
        return watch
    from qkv.cli.tensorboard import FOLDER, Scalars

    return Scalars(watch, command.output / "training" / FOLDER)


@contextmanager
def print_resume_command(trainable: Trainable, out: Path) -> Iterator[None]:
    """Print how to resume after a Ctrl-C outside training steps, such as while learning a vocabulary."""
    try:
        yield
    except KeyboardInterrupt:
        if run_file(out).exists():
            say(f"stopped. To resume: {resume_command(trainable, out)}")
        raise


def say(line: str) -> None:
    from qkv.progress.terminal import say as print_line

    print_line(line)
