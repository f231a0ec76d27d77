"""The options of a command, read from its dataclass: flags, types, defaults and help texts.

An option is stated once, as a field with a docstring. A nested dataclass adds no prefix if its flag's name is "".
"""

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

from qkv.cli.string_types import STRING_TYPES
from qkv.flags import POSITIONAL, REPEATED, Flag
from qkv.signatures import default_of, docstrings, unwrap

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
    """dataclasses.MISSING if the option is required."""
    owner: Any
    """The dataclass that states it."""
    aliases: tuple[str, ...] = ()
    positional: bool = False
    repeated: bool = False
    """Given once per value: --avoid a --avoid b."""

    @property
    def doc(self) -> str:
        """The docstring of the field, read only if the help or a message needs it."""
        return docstrings(self.owner).get(self.path[-1], "")

    @property
    def flag(self) -> str:
        """As messages name it; of a switch, the flag that changes its default."""
        if self.positional:
            return self.metavar
        return self.switch(on=self.default is not True) if self.is_switch else f"--{self.name}"

    @property
    def help_flag(self) -> str:
        """As the help shows it: both flags of a switch that is on by default, because the text says what it does when on."""
        if self.is_switch and self.default is True:
            return f"{self.switch(on=True)} / {self.switch(on=False)}"
        return self.flag

    @property
    def names(self) -> tuple[str, ...]:
        """All flags; none of a positional argument. A switch can be turned on and off, whatever its default is."""
        if self.positional:
            return ()
        opposite = (self.switch(on=self.default is True),) if self.is_switch else ()
        return (self.flag, *self.aliases, *opposite)

    @property
    def is_switch(self) -> bool:
        return self.hint is bool

    def switch(self, *, on: bool) -> str:
        """The flag that turns a switch on or off. The opposite of --no-open is --open."""
        if on:
            return f"--{self.name}"
        return f"--{self.name.removeprefix('no-')}" if self.name.startswith("no-") else f"--no-{self.name}"

    @property
    def takes_value(self) -> bool:
        return not self.is_switch

    @property
    def takes_many(self) -> bool:
        return not self.repeated and self.hint not in STRING_TYPES and has_any_length(self.hint)

    @property
    def count(self) -> int:
        """Values that it takes, if it does not take many."""
        hint = without_none(self.hint)
        is_tuple = typing.get_origin(hint) is tuple and hint not in STRING_TYPES
        return 1 if not is_tuple or has_any_length(hint) else len(typing.get_args(hint))


def accepts_none(hint: Any) -> bool:
    return type(None) in typing.get_args(hint)


def without_none(hint: Any) -> Any:
    """The first member of a union that is not None; other types as they are."""
    if typing.get_origin(hint) not in (Union, types.UnionType):
        return hint
    return next(each for each in typing.get_args(hint) if each is not type(None))


def has_any_length(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple and typing.get_args(hint)[-1] is Ellipsis


def option_fields(kind: Any, default: Any = None) -> list[OptionField]:
    """All options of a command. `default` is an instance whose values replace the defaults of the class."""
    return list(walk(kind, default, (), ""))


def walk(
    kind: Any, default: Any, path: tuple[str, ...], prefix: str, repeated: bool = False
) -> Iterator[OptionField]:
    kind, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    types_of_parameters = dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=False))
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint, extras = unwrap(hints[field.name])
        hint = types_of_parameters.get(hint, hint)
        argument = next((each for each in extras if isinstance(each, Flag)), Flag())
        name = field.name.replace("_", "-")
        if argument.name is not None:
            name = argument.name
        value = default_of(field, default)
        spelled = STRING_TYPES.get(hint)
        if spelled is None and dataclasses.is_dataclass(hint):
            inner = f"{prefix}{name}." if name else prefix
            inherited = None if is_missing(value) else value
            append = REPEATED in extras
            yield from walk(hint, inherited, (*path, field.name), inner, append)
            continue
        positional = POSITIONAL in extras
        yield OptionField(
            name=prefix + name,
            path=(*path, field.name),
            hint=hint,
            metavar=argument.metavar
            or (metavar_of(hint, field.name, positional) if spelled is None else spelled.metavar),
            default=value if spelled is None or is_missing(value) else spelled.show(value),
            owner=kind,
            aliases=tuple(argument.aliases),
            positional=positional,
            repeated=(repeated or REPEATED in extras) and spelled is None and has_any_length(hint),
        )


def is_missing(value: Any) -> bool:
    return value is dataclasses.MISSING


def metavar_of(hint: Any, name: str, positional: bool = False) -> str:
    hint = without_none(hint)
    origin, choices = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return "|".join(map(str, choices))
    if origin is tuple:
        first = metavar_of(choices[0], name, positional)
        return f"{first} [{first} ...]" if choices[-1] is Ellipsis else " ".join([first] * len(choices))
    if positional:
        return name.upper()
    if hint is Path:
        return "PATH"
    return {int: "N", float: "X", bool: "", str: "TEXT"}.get(hint, name.upper())


def names_in(arguments: list[str]) -> set[str]:
    """The flags among the arguments, without values, with hyphens for underscores."""
    if "--" in arguments:  # what follows is text
        arguments = arguments[: arguments.index("--")]
    given = [argument.split("=", 1)[0] for argument in arguments if argument.startswith("-")]
    return {name.replace("_", "-") for name in given if not name.lstrip("-")[:1].isdigit()}


def fields_given(fields: list[OptionField], arguments: list[str]) -> list[OptionField]:
    names = names_in(arguments)
    return [field for field in fields if names.intersection(field.names)]


def value_at(settings: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        settings = getattr(settings, name)
    return settings


def with_value(settings: Settings, path: tuple[str, ...], value: Any) -> Settings:
    """A copy of nested dataclasses with one field replaced."""
    name, *rest = path
    if rest:
        value = with_value(getattr(settings, name), tuple(rest), value)
    changed: Settings = dataclasses.replace(settings, **{name: value})  # type: ignore[type-var]
    return changed


def with_values(settings: Settings, values: Mapping[tuple[str, ...], Any]) -> Settings:
    for path, value in values.items():
        settings = with_value(settings, path, value)
    return settings
