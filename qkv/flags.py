"""How a field of a dataclass is written on the command line, where its name and type do not say it.

Annotations of the field: `threads: Annotated[int, Flag(metavar="N")] = 1`, `model: Positional[Path]`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

T = TypeVar("T")
POSITIONAL, REPEATED = "positional", "repeated"
Positional = Annotated[T, POSITIONAL]
"""Given by its place instead of by a flag."""
Repeated = Annotated[T, REPEATED]
"""Given once per value: --avoid a --avoid b. On a nested dataclass it holds for all of its tuples."""


@dataclass(frozen=True, kw_only=True)
class Flag:
    name: str | None = None
    """Instead of the field's name. Empty for a nested dataclass whose fields need no prefix."""
    metavar: str | None = None
    """What the help shows in place of a value."""
    aliases: Sequence[str] = ()
