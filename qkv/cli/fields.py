"""The options of a command, read off its dataclass: flags, types, defaults and help texts.

A field and its docstring are the only statement of an option. A nested dataclass whose name is "" for tyro has no prefix.
"""

import ast
import dataclasses
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

import tyro

from qkv.cli.string_types import STRING_TYPES

Settings = TypeVar("Settings")


@dataclass(frozen=True, kw_only=True)
class OptionField:
    name: str
    """Without dashes: learning-rate."""
    path: tuple[str, ...]
    """From the command to the field: ("settings", "training", "learning_rate")."""
    hint: Any
    metavar: str
    default: Any
    """dataclasses.MISSING for what must be given."""
    doc: str
    aliases: tuple[str, ...] = ()
    positional: bool = False

    @property
    def flag(self) -> str:
        if self.positional:
            return self.metavar
        return f"--no-{self.name}" if self.hint is bool and self.default is True else f"--{self.name}"

    @property
    def takes_value(self) -> bool:
        return self.hint is not bool

    @property
    def takes_many(self) -> bool:
        return typing.get_origin(self.hint) is tuple and typing.get_args(self.hint)[-1] is Ellipsis


def option_fields(kind: Any, default: Any = None) -> list[OptionField]:
    """All options of a command. `default` is an instance that has the defaults, where the class has none."""
    return list(walk(kind, default, (), ""))


def walk(kind: Any, default: Any, path: tuple[str, ...], prefix: str) -> Iterator[OptionField]:
    kind, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    types_of_parameters = dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=False))
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint, extras = unwrapped(hints[field.name])
        hint = types_of_parameters.get(hint, hint)
        argument: Any = next((each for each in extras if type(each).__name__ == "_ArgConfig"), None)
        name = field.name.replace("_", "-")
        if argument is not None and argument.name is not None:
            name = argument.name
        value = default_of(field, default)
        spelled = STRING_TYPES.get(hint)
        if spelled is None and dataclasses.is_dataclass(hint):
            inner = f"{prefix}{name}." if name else prefix
            yield from walk(hint, None if is_missing(value) else value, (*path, field.name), inner)
            continue
        yield OptionField(
            name=prefix + name,
            path=(*path, field.name),
            hint=hint,
            metavar=(argument.metavar if argument is not None else None)
            or (metavar_of(hint, field.name) if spelled is None else spelled.metavar),
            default=value if spelled is None or is_missing(value) else spelled.show(value),
            doc=docstrings(kind).get(field.name, ""),
            aliases=tuple((argument.aliases if argument is not None else None) or ()),
            positional=any(each is tyro.conf.Positional or "Positional" in str(each) for each in extras),
        )


def unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without Annotated, and what Annotated adds to it."""
    extras: tuple[Any, ...] = ()
    while hasattr(hint, "__metadata__"):
        extras += hint.__metadata__
        hint = hint.__origin__
    return hint, extras


def default_of(field: dataclasses.Field[Any], default: Any) -> Any:
    if default is not None:
        return getattr(default, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def is_missing(value: Any) -> bool:
    return value is dataclasses.MISSING or value is tyro.MISSING


def metavar_of(hint: Any, name: str) -> str:
    origin, choices = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "|".join(map(str, choices))
    if origin in (Union, types.UnionType):
        return metavar_of(next(each for each in choices if each is not type(None)), name)
    if origin is tuple:
        first = metavar_of(choices[0], name)
        return f"{first} [{first} ...]" if choices[-1] is Ellipsis else " ".join([first] * len(choices))
    if hint is Path:
        return "PATH"
    return {int: "N", float: "X", bool: "", str: "TEXT"}.get(hint, name.upper())


@cache
def docstrings(kind: Any) -> dict[str, str]:
    """The text below each field of a dataclass and of its bases."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if dataclasses.is_dataclass(base) and isinstance(base, type):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(body, ast.ClassDef)
            found |= texts_in(body)
    return found


def texts_in(body: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def names_in(arguments: list[str]) -> set[str]:
    """The flags that were given, without values. Underscores and hyphens are the same."""
    given = [argument.split("=", 1)[0] for argument in arguments if argument.startswith("-")]
    return {name.replace("_", "-") for name in given if not name.lstrip("-")[:1].isdigit()}


def fields_given(fields: list[OptionField], arguments: list[str]) -> list[OptionField]:
    names = names_in(arguments)
    return [field for field in fields if {field.flag, *field.aliases} & names]


def value_at(settings: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        settings = getattr(settings, name)
    return settings


def with_value(settings: Settings, path: tuple[str, ...], value: Any) -> Settings:
    """A copy of nested dataclasses in which one field has another value."""
    name, *rest = path
    if rest:
        value = with_value(getattr(settings, name), tuple(rest), value)
    changed: Settings = dataclasses.replace(settings, **{name: value})  # type: ignore[type-var]
    return changed


def with_values(settings: Settings, values: Mapping[tuple[str, ...], Any]) -> Settings:
    for path, value in values.items():
        settings = with_value(settings, path, value)
    return settings
