"""Choose what to train from the inputs that are given, and explain options that do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from qkv.api.resuming import inputs_of_run
from qkv.cli.fields import OptionField, names_in, option_fields
from qkv.cli.help import wants_help
from qkv.cli.resuming import can_resume
from qkv.cli.training_options import fields_of, flag_of, option_value, output_in
from qkv.errors import QkvError
from qkv.training.command import fitting_trainable
from qkv.training.trainable import Trainable


def choose_trainable(siblings: Sequence[Trainable], arguments: list[str]) -> Trainable:
    """The most specific trainable whose inputs are given. A run that is resumed has its own."""
    names = inputs_of_run(output_in(arguments)) if can_resume(arguments) else input_names(arguments)
    if wants_help(arguments):  # `--fine-tune --help` names no other input
        fitting = [each for each in siblings if each.needs & names]
        fitting = fitting or [each for each in siblings if each.needs <= names]
        return min(fitting, key=lambda each: len(each.needs - names) - len(each.needs & names))
    return fitting_trainable(siblings, names)


def input_names(arguments: list[str]) -> set[str]:
    return {name.removeprefix("--").replace("-", "_") for name in names_in(arguments)}


def check_options(trainable: Trainable, siblings: Sequence[Trainable], arguments: list[str]) -> None:
    """Explain an option of another trainable with the same name, and an empty list of files."""
    own = {name: field for field in fields_of(trainable) for name in field.names}
    for name in sorted(names_in(arguments) - set(own)):
        homes = [other for other in siblings if name in all_names(fields_of(other))]
        if homes and can_resume(arguments):
            raise QkvError(f"the run in {output_in(arguments)} was started without {name}: leave it out.")
        if homes:
            raise QkvError(explain_misfit(name, trainable, homes, input_names(arguments)))
    for name in names_in(arguments) & set(own):
        if own[name].takes_many and (option_value(arguments, name) or "--").startswith("--"):
            raise QkvError(f"{name} needs at least one file.")


def all_names(fields: Sequence[OptionField]) -> set[str]:
    return {name for field in fields for name in field.names}


def explain_misfit(name: str, trainable: Trainable, homes: Sequence[Trainable], given: set[str]) -> str:
    """Why an option of the trainables `homes` is not one of this trainable."""
    nearest = min(homes, key=lambda each: (-len(each.needs & trainable.needs), len(each.needs - given)))
    conflicts = trainable.needs - nearest.needs - {field.path[-1] for field in option_fields(nearest.inputs)}
    if conflicts:
        return f"{name} cannot be combined with {' and '.join(sorted(map(flag_of, conflicts)))}."
    ways = sorted(" and ".join(sorted(map(flag_of, each.needs - given))) for each in homes)
    return f"{name} needs {join_with_or(ways)}."


def join_with_or(ways: Sequence[str]) -> str:
    *others, last = ways
    return f"{', '.join(others)} or {last}" if others else last
