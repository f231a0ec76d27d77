"""A training command: inputs, settings and output. `qkv train` and the Python functions build one. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from qkv.flags import Flag, OptionalFolder
from qkv.training.settings import RunSettings, TrainingSettings, find_recipe
from qkv.training.trainable import Inputs, Trainable

GivenInputs = TypeVar("GivenInputs", bound=Inputs)
Settings = TypeVar("Settings", bound=RunSettings)
Given = frozenset[tuple[str, ...]]
"""Paths of the inputs and settings that the user chose, such as ("training", "learning_rate")."""


@dataclass(frozen=True, kw_only=True)
class TrainCommand(Generic[GivenInputs, Settings]):
    inputs: Annotated[GivenInputs, Flag(name="")]
    output: Annotated[Path, Flag(aliases=["-o", "--out"], metavar="DIR")]
    """Folder for the model. It must be new or empty."""
    recipe: Annotated[str, Flag(metavar="NAME")] = "automatic"
    """A named set of settings; "automatic" fits them to the amount of data."""
    resume: bool = False
    """Resume the run in the output folder with the options it was started with. Without a run there, start one."""
    tensorboard: bool = False
    """Also write the log for TensorBoard, to OUTPUT/training/tensorboard."""
    data_cache: OptionalFolder = None
    """Folder for prepared training data. Later runs on the same files use them again. By default, data that are too
    large for memory are prepared in OUTPUT/training/prepared."""
    settings: Annotated[Settings, Flag(name="")]


Command = TrainCommand[Any, Any]


def command_type(trainable: Trainable) -> Any:
    return TrainCommand[trainable.inputs, trainable.settings]  # type: ignore[name-defined]


def nominal_command(trainable: Trainable, recipe: str | None, command: Command | None = None) -> Command:
    """A command with the settings of a recipe for the nominal amount of data."""
    settings = find_recipe(recipe or "automatic", trainable.recipes(command))(trainable.nominal)
    made: Command = command_type(trainable)(inputs=trainable.inputs(), output=MISSING, settings=settings)
    return made


def with_training(command: Command, training: TrainingSettings) -> Command:
    return replace(command, settings=replace(command.settings, training=training))


def fitting_trainable(siblings: Sequence[Trainable], inputs: set[str]) -> Trainable:
    """The most specific of the trainables of one name whose inputs are given."""
    return max((each for each in siblings if each.needs <= inputs), key=lambda each: len(each.needs))
