"""What can be trained: its inputs, its settings and its task. Importing this needs no torch.

The command line derives its options from the `Trainable` record. `Trainable.task` names the function that makes the
`qkv.training.task.Task`.
"""

import dataclasses
import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from qkv.data.patterns import all_matching
from qkv.errors import InputTypeError
from qkv.training.python_data import GivenData
from qkv.training.settings import RunSettings

if TYPE_CHECKING:
    from qkv.prepared.place import Place
    from qkv.training.distributed import Group

Recipe = Callable[[int], RunSettings]
"""Settings for an amount of data."""


class Data(Protocol):
    """The data of a run, before its settings are final."""

    @property
    def amount(self) -> int:
        """How much data there is; recipes choose the size of a model by it."""


class Inputs:
    """Base of the dataclasses that name the data of a run: paths, tuples of paths, words and numbers."""

    MAIN: ClassVar[str] = ""
    """The input that the data of a Python function fill, if they are given without a name."""
    PYTHON: ClassVar[frozenset[str]] = frozenset()
    """Keywords that only Python functions have, such as names of columns."""

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        """The files among the options that a Python function was given, and the data that must be written to files.

        By default only paths are possible. A family overrides this to accept data of other types.
        """
        several = path_inputs(cls)
        return GivenData(
            values={name: as_paths(name, given[name], several[name]) for name in several if name in given}
        )

    def read(self, settings: Any, say: Callable[[str], None]) -> Data:
        """Read the data. `say` prints a line for the user."""
        raise NotImplementedError

    def read_large(self, settings: Any, place: "Place") -> Data:
        """Read data that may be larger than memory. They can be prepared in files, which all processes of a run share."""
        return self.read(settings, place.say)

    def to_stored(self) -> dict[str, Any]:
        """The inputs as JSON, with absolute paths, because a run may be resumed from another folder."""
        return {name: to_json(value) for name, value in vars(self).items()}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        hints = typing.get_type_hints(cls)
        fields = [field.name for field in dataclasses.fields(cls) if field.name in stored]  # type: ignore[arg-type]
        return cls(**{name: from_json(hints[name], stored[name]) for name in fields})

    def can_be_read_again(self) -> bool:
        """False for a pipe, which only the first process could read."""
        return all(path.is_file() or path.is_dir() for path in all_matching(self.paths()))

    def paths(self) -> list[Path]:
        values = [value if isinstance(value, tuple) else (value,) for value in vars(self).values()]
        return [each for value in values for each in value if isinstance(each, Path)]


def path_inputs(inputs: type[Inputs]) -> dict[str, bool]:
    """The inputs that are files or folders, and whether each may have several."""
    hints = typing.get_type_hints(inputs)
    kinds = {field.name: hints[field.name] for field in dataclasses.fields(inputs)}  # type: ignore[arg-type]
    return {
        name: typing.get_origin(hint) is tuple
        for name, hint in kinds.items()
        if hint is Path or Path in typing.get_args(hint)
    }


def as_paths(name: str, value: Any, several: bool) -> Any:
    """A path, or several."""
    if isinstance(value, str | os.PathLike):
        return (Path(value),) if several else Path(value)
    if (
        several
        and isinstance(value, list | tuple)
        and all(isinstance(each, str | os.PathLike) for each in value)
    ):
        return tuple(map(Path, value))
    raise InputTypeError(f"{name} is {type(value).__name__}; expected a path.")


def to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [to_json(each) for each in value]
    return str(value.absolute()) if isinstance(value, Path) else value


def from_json(hint: Any, value: Any) -> Any:
    is_path = hint is Path or Path in typing.get_args(hint)
    if typing.get_origin(hint) is tuple and not isinstance(value, list):
        value = (
            [] if value is None else [value]
        )  # an earlier version had one file where there may be several now
    if isinstance(value, list):
        return tuple(Path(each) if is_path else each for each in value)
    return Path(value) if is_path and value is not None else value


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a task may need besides its data and settings."""

    group: "Group | None" = None
    given: frozenset[str] = frozenset()
    """Names of the settings that the user chose; the others follow from the recipe."""
    say: Callable[[str], None] = lambda line: None
    data_before: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Hashes of the data of the run that is resumed, by name; none for a new run."""


@dataclass(frozen=True, kw_only=True)
class Trainable:
    """One thing that can be trained."""

    name: str
    """As in `qkv train NAME`. Several may share a name; the inputs that are given choose one of them."""
    summary: str
    """First paragraph of the help, with an example."""
    inputs: type[Inputs]
    settings: type[RunSettings]
    recipes: Callable[[Any], Mapping[str, Recipe]]
    """Recipes by name, for a parsed command: its inputs and settings may choose among them. None for the usual ones."""
    nominal: int
    """The amount of data for which the help shows the automatic settings."""
    unit: str
    """What is counted: "pairs"."""
    task: str
    """Reference to a function of (data, inputs, settings, setup) that returns a `qkv.training.task.Task`."""
    needs: frozenset[str] = frozenset()
    """Inputs that choose this trainable when they are given, such as `fine_tune`."""
    starts_with: frozenset[str] = frozenset()
    """Inputs of which one must be given to start a run; none if there is built-in data."""
    usage: str
    """How to use the result, after the program's name. {out} is the bundle, {example} is `example(report)`."""
    example: Callable[[Mapping[str, Any]], str] = lambda report: '"…"'
    """An example input for the model that this report describes."""
    summary_lines: Callable[[Mapping[str, Any]], list[str]] = lambda report: []
    """More lines for the end of a run."""
    print_table: Callable[[Mapping[str, Any]], None] | None = None
    """Print a table at the end of a run."""


def always(recipes: Mapping[str, Recipe]) -> Callable[[Any], Mapping[str, Recipe]]:
    """Recipes that do not depend on the command."""
    return lambda command: recipes
