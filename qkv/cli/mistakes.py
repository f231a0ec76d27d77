"""Find the first mistake in the arguments of a command, and explain it in one sentence."""

import difflib
import typing
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from qkv.cli.fields import OptionField, accepts_none, is_missing, without_none
from qkv.cli.string_types import STRING_TYPES

LONGEST_NAME, LONGEST_VALUE = 200, 60  # characters of an argument that a message shows
SIMILAR = 0.7  # from 0 to 1: --foo is not --out, but --beem is --beam
NUMBERS = {2: "two", 3: "three"}


def find_mistake(prog: str, fields: Sequence[OptionField], arguments: Sequence[str]) -> str | None:
    """An error message for the first mistake, or None."""
    see = f" See `{prog} --help`."
    options = {name: field for field in fields for name in field.names}
    given: set[tuple[str, ...]] = set()
    texts: list[str] = []
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if argument == "--":
            texts += reversed(rest)
            break
        if not is_option(argument):
            texts.append(argument)
            continue
        name, equals, value = argument.partition("=")
        field = options.get(name.replace("_", "-"))
        if field is None:
            return unrecognized_argument(name, options, see)
        given.add(field.path)
        if equals:
            rest.append(value)
        mistake = mistake_in_value(name, field, take_values(field, rest, at_least=int(bool(equals))))
        if mistake:
            return mistake
    mistake = mistake_in_positionals(fields, texts) or missing_option(fields, given)
    return mistake and mistake + see


def is_option(argument: str) -> bool:
    return argument.startswith("-") and argument != "-" and not is_number(argument)


def is_number(argument: str) -> bool:
    try:
        float(argument)
    except ValueError:
        return False
    return True


def unrecognized_argument(name: str, known: Iterable[str], see: str) -> str:
    shown = shorten(name, LONGEST_NAME)
    near = difflib.get_close_matches(shown, known, n=1, cutoff=SIMILAR)
    hint = f"; did you mean {near[0]}?" if near else f".{see}"
    return f"unrecognized argument {shown}{hint}"


def take_values(field: OptionField, rest: list[str], *, at_least: int) -> list[str]:
    """Take the values of an option off the end of `rest`. The first `at_least` are values even if they start with -."""
    if not field.takes_value:
        return []
    most = len(rest) if field.takes_many else field.count
    values: list[str] = []
    while rest and len(values) < most and (len(values) < at_least or not is_option(rest[-1])):
        values.append(rest.pop())
    return values


def mistake_in_value(name: str, field: OptionField, values: Sequence[str]) -> str | None:
    if not field.takes_value:
        return None
    if not values:
        return f"{name} needs a value."
    if field.hint in STRING_TYPES:  # whoever reads it checks it
        return None
    if list(values) == ["None"] and accepts_none(field.hint):
        return None
    kinds, shown = value_types(field.hint), shorten(" ".join(values))
    wrong = not all(fits(kind, value) for value, kind in zip(values, kinds * len(values), strict=False))
    if field.count > 1:
        return (
            f"{name} needs {several(field)}, not '{shown}'." if wrong or len(values) < field.count else None
        )
    if not wrong:
        return None
    if typing.get_origin(kinds[0]) is Literal:
        return f"{name} must be one of {', '.join(map(str, typing.get_args(kinds[0])))}, not '{shown}'."
    return f"{name} must be {'a whole number' if kinds[0] is int else 'a number'}, not '{shown}'."


def value_types(hint: Any) -> list[Any]:
    """The type of each value."""
    hint = without_none(hint)
    if typing.get_origin(hint) is not tuple:
        return [hint]
    return [each for each in typing.get_args(hint) if each is not Ellipsis]


def fits(kind: Any, value: str) -> bool:
    if typing.get_origin(kind) is Literal:
        return value in map(str, typing.get_args(kind))
    if kind not in (int, float):
        return True
    try:
        kind(value)
    except ValueError:
        return False
    return True


def several(field: OptionField) -> str:
    numeric = all(kind in (int, float) for kind in value_types(field.hint))
    return f"{NUMBERS.get(field.count, str(field.count))} {'numbers' if numeric else 'values'}"


def mistake_in_positionals(fields: Sequence[OptionField], texts: Sequence[str]) -> str | None:
    positional = [field for field in fields if field.positional]
    if len(texts) > len(positional) and not any(field.takes_many for field in positional):
        return f"unrecognized argument {shorten(texts[len(positional)])}."
    for field, text in zip(positional, texts, strict=False):
        if mistake := mistake_in_value(field.name.upper(), field, [text]):
            return mistake
    for field in positional[len(texts) :]:
        if is_missing(field.default):
            is_choice = typing.get_origin(field.hint) is Literal
            name = field.name.upper() if is_choice else field.metavar.split(" [")[0]
            what = field.doc[:1].lower() + field.doc[1:].rstrip(".")
            return f"{name} is missing ({what})."
    return None


def missing_option(fields: Sequence[OptionField], given: set[tuple[str, ...]]) -> str | None:
    for field in fields:
        if not field.positional and is_missing(field.default) and field.path not in given:
            return f"{field.flag} is missing."
    return None


def shorten(text: str, most: int = LONGEST_VALUE) -> str:
    """Without control characters: an argument may come from a file."""
    shown = "".join(each if each.isprintable() else "·" for each in text[:most])
    return shown if len(text) <= most else f"{shown}…"
