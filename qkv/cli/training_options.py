"""The options of `qkv train`: those of a trainable, with the defaults of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.cli.fields import OptionField, option_fields, with_values
from qkv.cli.options import read_options
from qkv.errors import QkvError
from qkv.training.command import Command, GivenInputs, Settings, TrainCommand, nominal_command
from qkv.training.trainable import Trainable

OUTPUT = ("--output", "--out", "-o")
COMMON = {
    "output", "recipe", "resume", "steps", "minutes", "epochs", "seed", "architecture", "width", "depth", "encoder-depth",
    "decoder-depth", "heads", "dropout", "max-length", "vocab-size", "batch-tokens", "learning-rate", "patience",
    "precision", "language-token",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PrintingCommand(TrainCommand[GivenInputs, Settings]):
    """A training command with what only the command line has."""

    json: bool = False
    """Print the report of the run as one JSON document at the end."""

    @classmethod
    def of(cls, command: Any) -> Any:
        """The same command; None stays None."""
        return command if command is None or isinstance(command, PrintingCommand) else cls(**vars(command))


def printing_type(trainable: Trainable) -> Any:
    return PrintingCommand[trainable.inputs, trainable.settings]  # type: ignore[name-defined]


def flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def fields_of(trainable: Trainable, default: Any = None) -> list[OptionField]:
    return option_fields(printing_type(trainable), PrintingCommand.of(default))


def help_defaults(trainable: Trainable, arguments: list[str]) -> Command:
    """The defaults in the help: those of the given recipe and architecture."""
    recipe, architecture = option_value(arguments, "--recipe"), option_value(arguments, "--architecture")
    default = nominal_command(trainable, recipe)
    paths = [field.path for field in fields_of(trainable) if field.name == "architecture"]
    if architecture is None or not paths:
        return default
    return nominal_command(trainable, recipe, with_values(default, {paths[0]: architecture}))


def parse(trainable: Trainable, arguments: list[str], default: Command) -> Command:
    inputs = {field.name for field in option_fields(trainable.inputs)}
    return read_options(
        printing_type(trainable),
        arguments,
        prog=f"qkv train {trainable.name}",
        description=description(trainable),
        default=PrintingCommand.of(default),
        common=COMMON | inputs,
        needs=" ".join(sorted(map(flag_of, trainable.needs))),
    )


def description(trainable: Trainable) -> str:
    recipes = "\n".join(
        f"  {name}: {first_paragraph(recipe)}" for name, recipe in trainable.recipes(None).items()
    )
    return (
        f"{trainable.summary}\n\nRecipes:\n{recipes}\n\n"
        f"Defaults are those of the recipe. The automatic ones are shown for {trainable.nominal:,} {trainable.unit}."
    )


def option_value(arguments: list[str], *names: str) -> str | None:
    """The value of an option, before parsing; None if it is not given."""
    for index, argument in enumerate(arguments):
        given, equals, value = argument.partition("=")
        if given.replace("_", "-") not in names:
            continue
        if equals:
            return value
        if index + 1 < len(arguments):
            return arguments[index + 1]
    return None


def output_in(arguments: list[str]) -> Path:
    out = option_value(arguments, *OUTPUT)
    if out is None:
        raise QkvError("--resume needs --output with the folder of the run.")
    return Path(out)


def first_paragraph(documented: object) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join((documented.__doc__ or "").split("\n\n")[0].split())
