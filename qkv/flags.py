"""How a field of a dataclass is written on the command line, where its name and type do not say it.

Annotations of the field: `threads: Annotated[int, Flag(metavar="N")] = 1`, `model: Positional[Path]`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from qkv.errors import OptionError, QkvError

T = TypeVar("T")
POSITIONAL, REPEATED, DATA = "positional", "repeated", "data"
Positional = Annotated[T, POSITIONAL]
"""Given by its place instead of by a flag."""
Repeated = Annotated[T, REPEATED]
"""Given once per value: --avoid a --avoid b. On a nested dataclass it holds for all of its tuples."""
OrData = Annotated[T, DATA]
"""In Python the option also takes lists, iterators, tables or models. The function that reads them checks them."""


@dataclass(frozen=True, kw_only=True)
class Flag:
    name: str | None = None
    """Instead of the field's name. Empty for a nested dataclass whose fields need no prefix."""
    metavar: str | None = None
    """What the help shows in place of a value."""
    aliases: Sequence[str] = ()


OptionalFile = Annotated[Path | None, Flag(metavar="FILE")]
OptionalModel = Annotated[Path | None, Flag(metavar="MODEL")]
OptionalFolder = Annotated[Path | None, Flag(metavar="DIR")]
OptionalLanguage = Annotated[str | None, Flag(metavar="CODE")]
SomeFiles = Annotated[tuple[Path, ...], Flag(metavar="FILE [FILE ...]")]


class OptionMessageError(OptionError):
    """A message about options, with their names in braces: OptionMessageError("give {pairs}, or {source} and {target}.").

    Python shows `pairs`, the command line --pairs. Other values are keyword arguments.
    """

    def __init__(self, template: str, **values: object):
        self.template, self.values = template, values
        self.faults = ()
        QkvError.__init__(self, self._written(lambda name: f"`{name}`"))

    def _written(self, name_of: Callable[[str], str]) -> str:
        return self.template.format_map(Names(self.values, name_of))


class Names(dict[str, object]):
    """The values of a template. What has no value is the name of an option."""

    def __init__(self, values: dict[str, object], name_of: Callable[[str], str]):
        super().__init__(values)
        self.name_of = name_of

    def __missing__(self, name: str) -> str:
        return self.name_of(name)
