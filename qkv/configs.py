"""Convert frozen dataclasses to JSON and back. Unknown keys are errors, with a suggestion."""

import dataclasses
import difflib
import math
import reprlib
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union

from qkv.errors import QkvError

Config = TypeVar("Config")


def to_dict(config: Any) -> dict[str, Any]:
    return dataclasses.asdict(config)


def to_saved(config: Any) -> dict[str, Any]:
    """The config of a bundle: without fields that have their default, so that a version without a new field reads it too.

    So the default of a new field must be what models without it do, and must never change.
    """
    found: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.default is not dataclasses.MISSING and value == field.default:
            continue
        found[field.name] = to_saved(value) if dataclasses.is_dataclass(value) else value
    return found


def changed_paths(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The paths of the settings whose values differ."""
    found: list[tuple[str, ...]] = []
    for name, value in before.items():
        if isinstance(value, dict):
            found += [(name, *rest) for rest in changed_paths(value, after.get(name, {}))]
        elif name not in after or value != after[name]:
            found.append((name,))
    return found


def from_dict(kind: type[Config], values: Any, where: str) -> Config:
    """Build the dataclass and check names and types. `where` names the file in errors."""
    if not isinstance(values, dict):
        raise QkvError(f"{where}: expected an object with the settings of {kind.__name__}.")
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values = with_new_names(kind, values)
    for key in values:
        if key not in fields:
            key = str(key)[:80]
            near = difflib.get_close_matches(key, fields, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known settings: {', '.join(fields)}."
            raise QkvError(f"{where}: {kind.__name__} has no setting '{key}'; {hint}")
    required = [
        name for name, field in fields.items() if field.default is field.default_factory
    ]  # both MISSING
    missing = [name for name in required if name not in values]
    if missing:
        raise QkvError(f"{where}: {kind.__name__} lacks {', '.join(missing)}.")
    hints = typing.get_type_hints(kind)
    built = {name: value_of(hints[name], value, f"{where}: {name}") for name, value in values.items()}
    try:
        return kind(**built)
    except ValueError as error:
        raise QkvError(f"{where}: {error}.") from None


def with_new_names(kind: type[Config], values: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the names of version 0.1, which each class lists in OLD_NAMES.

    OLD_VALUES converts values whose type has changed as well.
    """
    old: Mapping[str, str] = getattr(kind, "OLD_NAMES", {})
    changed: Mapping[str, Callable[[Any], Any]] = getattr(kind, "OLD_VALUES", {})
    found: dict[str, Any] = {}
    for name, value in values.items():
        new = old.get(name, name)
        found[new] = changed[new](value) if new != name and new in changed else value
    return found


def value_of(hint: Any, value: Any, where: str) -> Any:
    origin, choices = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_dict(hint, value, where)
    if origin is Literal:
        fits = value in choices
    elif origin in (Union, types.UnionType):
        if value is None and type(None) in choices:
            return None
        return value_of(next(choice for choice in choices if choice is not type(None)), value, where)
    elif origin is tuple:
        if not isinstance(value, list | tuple):
            raise QkvError(f"{where} should be a list, not {shorten_value(value)}.")
        kinds = choices[:1] * len(value) if choices[-1] is Ellipsis else choices
        if len(kinds) != len(value):
            raise QkvError(f"{where} should have {len(kinds)} values, not {len(value)}.")
        return tuple(value_of(kind, each, where) for kind, each in zip(kinds, value, strict=True))
    elif hint is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
    elif hint is int:
        fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    else:
        fits = isinstance(value, hint)
    if not fits:
        names = ", ".join(map(str, choices)) if origin is Literal else getattr(hint, "__name__", str(hint))
        raise QkvError(f"{where} should be {names}, not {shorten_value(value)}.")
    return value


def is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def shorten_value(value: Any) -> str:
    """A value in a message, shortened."""
    return reprlib.repr(value)
