"""Options of which some take data of a Python program besides files."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from qkv.signatures import replace_options

Options = TypeVar("Options")


def replace_with_data(default: Options, keywords: Mapping[str, Any]) -> Options:
    """A copy of an instance with some options replaced. Those that its class lists in `DATA` may be of any type."""
    names: tuple[str, ...] = getattr(default, "DATA", ())
    others = {name: value for name, value in keywords.items() if name not in names}
    data = {name: value for name, value in keywords.items() if name in names}
    changed: Options = dataclasses.replace(replace_options(default, others), **data)  # type: ignore[type-var]
    return changed
