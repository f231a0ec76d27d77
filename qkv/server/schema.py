"""Fields of requests and answers, stated once as dataclasses: they validate requests and describe them in OpenAPI.

    @dataclass(frozen=True, kw_only=True)
    class Detect:
        q: str
        '''The text.'''

`read_fields(Detect, {"q": "hello"})` is an instance, and `schema_of(Detect)` its JSON Schema. Forms have only strings, so
numbers, switches and JSON objects are accepted as strings too.
"""

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union

from qkv.signatures import docstrings

Fields = TypeVar("Fields")
SWITCHES = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}
OPENAPI_TYPES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Any: {},
    type(None): {"type": "null"},
}


@dataclass(frozen=True)
class Limits:
    """Bounds of a number or of a text's length; for `Annotated`."""

    least: float | None = None
    most: float | None = None
    example: Any = None


class FieldError(Exception):
    """A field that is missing, or whose value cannot be used."""

    def __init__(self, name: str, problem: str, *, missing: bool = False):
        super().__init__(f"{name} {problem}")
        self.name, self.problem, self.missing = name, problem, missing


@dataclass(frozen=True)
class FieldType:
    """A field of a dataclass, ready for validation."""

    name: str
    hint: Any
    limits: Limits
    default: Any

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING


@cache
def fields_of(kind: Any) -> tuple[FieldType, ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    found = []
    for each in dataclasses.fields(kind):
        hint, limits = hints[each.name], Limits()
        if typing.get_origin(hint) is typing.Annotated:
            hint, *extras = typing.get_args(hint)
            limits = next((extra for extra in extras if isinstance(extra, Limits)), limits)
        default = each.default
        if each.default_factory is not dataclasses.MISSING:
            default = each.default_factory()
        found.append(FieldType(each.name, hint, limits, default))
    return tuple(found)


def read_fields(kind: type[Fields], values: Mapping[str, Any]) -> Fields:
    """An instance from what a client sent. Unknown names are ignored, as the other servers do."""
    given: dict[str, Any] = {}
    for each in fields_of(typing.cast(Any, kind)):
        value = values.get(each.name)
        if value is None:
            if each.required:
                raise FieldError(each.name, "is missing", missing=True)
            continue
        given[each.name] = convert(each.name, value, each.hint, each.limits)
    return kind(**given)


def convert(name: str, value: Any, hint: Any, limits: Limits) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, types.UnionType):
        return convert_union(name, value, arguments, limits)
    if origin is Literal:
        if value not in arguments or isinstance(value, bool):
            raise FieldError(name, f"must be {' or '.join(map(str, arguments))}")
        return value
    if origin is tuple:
        return convert_list(name, value, arguments[0], limits)
    if origin is dict:
        return convert_mapping(name, value)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise FieldError(name, "must be an object")
        return read_fields(typing.cast(type[Any], hint), value)
    return convert_one(name, value, hint, limits)


def convert_union(name: str, value: Any, members: tuple[Any, ...], limits: Limits) -> Any:
    last = FieldError(name, "has a wrong type")
    for member in members:
        if member is type(None):
            continue
        try:
            return convert(name, value, member, limits)
        except FieldError as error:
            last = error
    raise last


def convert_list(name: str, value: Any, member: Any, limits: Limits) -> tuple[Any, ...]:
    """A list, or one value. A form can send a list as JSON."""
    if isinstance(value, str) and member is not str:
        value = loaded(name, value)
    several = value if isinstance(value, list) else [value]
    return tuple(convert(name, each, member, limits) for each in several)


def convert_mapping(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, str):
        value = loaded(name, value)
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise FieldError(name, "must be an object with texts")
    return value


def loaded(name: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise FieldError(name, "must be JSON") from None


def convert_one(name: str, value: Any, hint: Any, limits: Limits) -> Any:
    if hint is str:
        if not isinstance(value, str):
            raise FieldError(name, "must be a text")
        return value
    if hint is bool:
        if isinstance(value, bool):
            return value
        found = SWITCHES.get(str(value).lower()) if isinstance(value, str | int) else None
        if found is None:
            raise FieldError(name, "must be true or false")
        return found
    return convert_number(name, value, hint, limits)


def convert_number(name: str, value: Any, hint: Any, limits: Limits) -> int | float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise FieldError(name, "is not a number")
    try:
        number: int | float = hint(value if not isinstance(value, str) or len(value) < 40 else "")
        if not math.isfinite(number) or (hint is int and number != float(value)):
            raise ValueError(value)
    except (ValueError, OverflowError):
        raise FieldError(name, "is not a number") from None
    if limits.least is not None and number < limits.least:
        raise FieldError(name, f"must be >= {limits.least:g}")
    if limits.most is not None and number > limits.most:
        raise FieldError(name, f"must be <= {limits.most:g}")
    return number


# JSON Schema -------------------------------------------------------------------------------------------------


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a dataclass or a type."""
    if kind in OPENAPI_TYPES:
        return dict(OPENAPI_TYPES[kind])
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return schema_of(arguments[0])
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each) for each in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        if arguments[-1] is not Ellipsis:
            return {"type": "array", "prefixItems": [schema_of(each) for each in arguments]}
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    return object_schema(kind)


def object_schema(kind: Any) -> dict[str, Any]:
    properties, required = {}, []
    described = docstrings(kind)
    for each in fields_of(kind):
        schema = schema_of(each.hint)
        limits = each.limits
        if limits.least is not None:
            schema["minimum"] = limits.least
        if limits.most is not None:
            schema["maximum"] = limits.most
        if limits.example is not None:
            schema["examples"] = [limits.example]
        if described.get(each.name):
            schema["description"] = described[each.name]
        if each.required:
            required.append(each.name)
        elif each.default not in (None, (), {}) and not dataclasses.is_dataclass(each.default):
            schema["default"] = each.default
        properties[each.name] = schema
    found: dict[str, Any] = {"type": "object", "properties": properties}
    return {**found, "required": required} if required else found
