"""Types of options that are given as one string, such as a file or a comma-separated list."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tyro


@dataclass(frozen=True, kw_only=True)
class StringType:
    metavar: str
    read: Callable[[str], Any]
    """Convert the string; raises UserError if it is invalid."""
    show: Callable[[Any], str]
    """Convert a value back, for the help."""


STRING_TYPES: dict[Any, StringType] = {}
REGISTRY = tyro.constructors.ConstructorRegistry()


@REGISTRY.primitive_rule
def from_string(
    info: tyro.constructors.PrimitiveTypeInfo,
) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
    kind = STRING_TYPES.get(info.type)
    if kind is None:
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.metavar,
        instance_from_str=lambda given: kind.read(given[0]),
        is_instance=lambda value: True,
        str_from_instance=lambda value: [kind.show(value)],
    )
