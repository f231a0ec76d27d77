"""From the arguments of a command to an instance of its dataclass."""

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

from qkv.cli.fields import OptionField
from qkv.cli.mistakes import is_option, take_values
from qkv.cli.string_types import STRING_TYPES
from qkv.signatures import default_of, unwrap

Command = TypeVar("Command")
Given = dict[tuple[str, ...], Any]  # values of fields, by path


def parse(
    kind: type[Command], default: Any, fields: Sequence[OptionField], arguments: Sequence[str]
) -> Command:
    """The command that these arguments describe. They must have no mistakes (`find_mistake`)."""
    command: Command = build(kind, default, (), given_values(fields, arguments))
    return command


def given_values(fields: Sequence[OptionField], arguments: Sequence[str]) -> Given:
    found: Given = {}
    texts: list[str] = []
    for field, name, values in read_arguments(fields, arguments, texts):
        if not field.takes_value:
            found[field.path] = name != field.switch(on=False)
        elif field.repeated:
            found[field.path] = (*found.get(field.path, ()), *convert(field.hint, values))
        else:
            found[field.path] = convert(field.hint, values)
    for field in (each for each in fields if each.positional):
        own = len(texts) if field.takes_many else 1
        if texts:
            found[field.path] = convert(field.hint, texts[:own])
        texts = texts[own:]
    return found


def read_arguments(
    fields: Sequence[OptionField], arguments: Sequence[str], texts: list[str]
) -> Iterator[tuple[OptionField, str, list[str]]]:
    """Every option with its flag and its values, in their order. Positional arguments are added to `texts`."""
    options = {name: field for field in fields for name in field.names}
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if argument == "--":
            texts += reversed(rest)
            return
        if not is_option(argument):
            texts.append(argument)
            continue
        name, equals, value = argument.partition("=")
        name = name.replace("_", "-")
        field = options[name]
        if equals:
            rest.append(value)
        yield field, name, take_values(field, rest, at_least=int(bool(equals)))


def convert(hint: Any, values: Sequence[str]) -> Any:
    """The values of an option as its type."""
    if hint in STRING_TYPES:
        return STRING_TYPES[hint].read(values[0])
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        if values[0] == "None" and type(None) in inner:
            return None
        return convert(next(each for each in inner if each is not type(None)), values)
    if origin is tuple:
        kinds = [inner[0]] * len(values) if inner[-1] is Ellipsis else inner
        return tuple(convert(each, [value]) for each, value in zip(kinds, values, strict=True))
    if origin is Literal:
        return next(each for each in inner if str(each) == values[0])
    return hint(values[0]) if hint in (int, float, str, Path) else values[0]


def build(kind: Any, default: Any, path: tuple[str, ...], given: Mapping[tuple[str, ...], Any]) -> Any:
    """An instance of a dataclass, and of those in its fields, with the values that were given."""
    made, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    parameters = dict(zip(getattr(made, "__parameters__", ()), arguments, strict=False))
    hints = typing.get_type_hints(made, include_extras=True)
    values = {}
    for field in dataclasses.fields(made):
        hint, _ = unwrap(hints[field.name])
        hint = parameters.get(hint, hint)
        here, value = (*path, field.name), default_of(field, default)
        if hint not in STRING_TYPES and dataclasses.is_dataclass(typing.get_origin(hint) or hint):
            own = None if value is dataclasses.MISSING else value
            values[field.name] = build(hint, own, here, given)
        else:
            values[field.name] = given.get(here, value)
    return made(**values)
