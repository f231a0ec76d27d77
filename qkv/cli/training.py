"""`qkv train`: start or resume a run of any family."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qkv.api.jobs import Job, Show, execute
from qkv.api.resuming import run_file
from qkv.cli.fields import fields_given, names_in
from qkv.cli.help import HELP_ALL, wants_help
from qkv.cli.resuming import can_resume, check_can_start, read_resumed, resume_command
from qkv.cli.training_choice import check_options, choose_trainable
from qkv.cli.training_options import fields_of, help_defaults, option_value, parse
from qkv.environment import is_helper
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.training.command import nominal_command
from qkv.training.trainable import Trainable


def main(name: str, arguments: list[str]) -> None:
    train(job_of(name, arguments), as_json="--json" in names_in(arguments))


def job_of(name: str, arguments: list[str]) -> Job:
    """The job that these arguments describe: a new run, or one that is resumed."""
    siblings: tuple[Trainable, ...] = resolve(trainings()[name].trainables)
    trainable = choose_trainable(siblings, arguments)
    if wants_help(arguments):
        parse(
            trainable, [HELP_ALL if HELP_ALL in arguments else "--help"], help_defaults(trainable, arguments)
        )
    check_options(trainable, siblings, arguments)
    if can_resume(arguments):
        return Job(trainable=trainable, command=read_resumed(trainable, arguments))
    if "--resume" in arguments:
        check_can_start(trainable, arguments)
    new = [each for each in arguments if each != "--resume"]
    default = nominal_command(trainable, option_value(arguments, "--recipe"))
    command = parse(trainable, new, default)
    if "--resume" in arguments and not is_helper():
        say(f"no run found in {command.output}; starting a new one")
    given = frozenset(field.path[1:] for field in fields_given(fields_of(trainable, default), new))
    return Job(trainable=trainable, command=command, given=given - {()})


def train(job: Job, *, as_json: bool) -> None:
    trainable, out = job.trainable, job.command.output
    with print_resume_command(trainable, out):
        outcome = execute(job, Show())
    if is_helper():  # of torchrun
        sys.exit(outcome.exit_code)
    if outcome.report is None:
        how = "saved" if outcome.saved else "not saved; the last checkpoint is older"
        say(f"stopped at step {outcome.step:,}, {how}. To resume: {resume_command(trainable, out)}")
        sys.exit(outcome.exit_code)
    from qkv.cli.training_summary import summarize

    summarize(trainable, outcome.report, out)
    if as_json:
        from qkv.cli.reports import print_json

        print_json({"output": str(out), "report": outcome.report})


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
