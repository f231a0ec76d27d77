"""Types of options that are given as one string, such as a file or a comma-separated list."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class StringType:
    metavar: str
    read: Callable[[str], Any]
    """Convert the string; raises QkvError if it is invalid."""
    show: Callable[[Any], str]
    """Convert a value back, for the help."""


STRING_TYPES: dict[Any, StringType] = {}
