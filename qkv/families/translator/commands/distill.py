"""`qkv distill`: a small, fast student learns from the translations of its teachers."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from qkv.api.distillation import DistillCommand, nominal_distillation, run_distill
from qkv.api.jobs import Show
from qkv.cli import program
from qkv.cli.fields import fields_given, option_fields
from qkv.cli.options import read_options
from qkv.cli.training_options import option_value

COMMON = {
    "text", "pairs", "source", "target", "data", "valid-source", "valid-target", "valid-pairs", "test-source", "test-target",
    "test-pairs", "target-text", "reverse", "output", "recipe", "work", "num-hypotheses", "max-ratio",
    "min-confidence", "reverse-drop", "repeat-pairs", "steps", "minutes", "seed", "width", "encoder-depth", "decoder-depth",
    "vocab-size", "threads", "word-level",
}  # fmt: skip
DESCRIPTION = (
    "Distill teachers into a student that is smaller and faster, for example\n"
    "  qkv distill runs/teacher --text captions.en --pairs train.tsv --output runs/student\n\n"
    "The teachers translate the text and the sources of the pairs. Bad translations are dropped. The student is trained on "
    "the rest and on the true pairs, and compared with its teachers. If the command is interrupted, the same command "
    "resumes it. Stages that are complete are not repeated.\n\n"
    "The options of the student are those of `qkv train translator`, such as --recipe, --steps or --width."
)


@dataclass(frozen=True, kw_only=True)
class Distill(DistillCommand):
    json: bool = False
    """Print the report of the distillation as one JSON document at the end."""


def main(arguments: list[str]) -> None:
    default = Distill(**vars(nominal_distillation(option_value(arguments, "--recipe"))))
    command = read_options(
        Distill,
        arguments,
        prog="qkv distill",
        description=DESCRIPTION,
        default=default,
        common=COMMON,
        hidden=["--teacher-models"],
    )
    from qkv.families.translator.distillation.report import summary_lines
    from qkv.progress.display import command_display

    fields = fields_given(option_fields(Distill, default), arguments)
    given = frozenset(field.path[1:] for field in fields if field.path[0] == "settings")
    display = command_display()
    try:
        report = run_distill(command, given, display, Show())
    except KeyboardInterrupt:
        sys.exit(130)
    for line in summary_lines(report["distillation"]):
        display.say(line)
    display.say(f'the student is in {command.output}. Try: {program()} translate {command.output} "…"')
    if command.json:
        from qkv.cli.reports import print_json

        print_json({"output": str(command.output), "distillation": report["distillation"]})
