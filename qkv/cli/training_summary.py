"""What `qkv train` prints at the end of a run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qkv.checkpoint.training_report import is_too_short
from qkv.cli import program
from qkv.cli.resuming import resume_command
from qkv.errors import QkvError
from qkv.families import trainings
from qkv.families.family import resolve
from qkv.progress.terminal import say
from qkv.training.trainable import Trainable


def summarize(trainable: Trainable, report: Mapping[str, Any], out: Path) -> None:
    training = report["training"]
    speed = " ".join(
        f"{value:,} {name.removesuffix('_per_second')}/s"
        for name, value in training.items()
        if name.endswith("_per_second")
    )
    say(
        f"{training['steps']:,} steps in {training['minutes']} minutes, {speed}; kept the {training['weights']}"
    )
    if is_too_short(training):
        say(advice_on_time(trainable, out))
    for line in trainable.summary_lines(report):
        say(line)
    for name, value in report.get("results", {}).items():
        say(f"{name}: {value}")
    if trainable.print_table is not None:
        trainable.print_table(report)
    draw_learning_curve(out)
    folder = shlex.quote(str(out))
    usage = trainable.usage.format(out=folder, example=trainable.example(report))
    say(f"the model is in {out}. Try: {program()} {usage}")


def advice_on_time(trainable: Trainable, out: Path) -> str:
    siblings: tuple[Trainable, ...] = resolve(trainings()[trainable.name].trainables)
    fine_tunes = any("fine_tune" in each.needs for each in siblings)
    others = " Or start from a published model with --fine-tune." if fine_tunes else ""
    return (
        "advice: the time limit ended training while the validation loss was still falling. For a better model, resume "
        f"with more time: {resume_command(trainable, out)} --minutes MINUTES, where MINUTES is the new total.{others}"
    )


def draw_learning_curve(out: Path) -> None:
    from qkv.pictures import learning_curve_picture

    picture = out / "learning-curve.png"
    try:
        learning_curve_picture(picture, out / "training")
    except (QkvError, OSError, ValueError) as error:  # no matplotlib, a full disk, or a damaged log
        say(f"no plot of the learning curve: {error}")
    else:
        say(f"learning curve: {picture}")
