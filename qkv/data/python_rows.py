"""Rows of training data as Python programs have them: lists, iterators, dictionaries, tables and data sets.

Tables are known by what they can do, not by their class. A table has `column_names` (`datasets`, Arrow) or `columns` (pandas,
polars), and gives a column for its name. Errors name the element: pairs[17].
"""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from qkv.errors import InputError, InputTypeError, type_name


@dataclass(frozen=True)
class Row:
    """One row, and its name in messages."""

    name: str
    value: Any

    def item(self, key: int | str, what: str = "str") -> Any:
        """An element of the row; `what` is what was expected."""
        try:
            return self.value[key]
        except (KeyError, IndexError):
            raise InputError(f"{self.name} has no {key!r}, only {shown(self.value)}.") from None

    def text(self, key: int | str | None = None) -> str:
        """The row, or an element of it, which must be a text."""
        value = self.value if key is None else self.item(key)
        name = self.name if key is None else f"{self.name}[{key!r}]"
        if not isinstance(value, str):
            raise InputTypeError(f"{name} is {type_name(value)}; expected str.")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{name} has half a character (a lone surrogate). Correct it.") from None
        return str(value)  # not a subclass


def is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def shown(names: Iterable[Any]) -> str:
    listed = [repr(each) for each in names]
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "") or "nothing"


def column_names(data: Any) -> list[str] | None:
    """The names of the columns of a table; None if it is not one."""
    keys = column_keys(data)
    return None if keys is None else list(map(str, keys))


def column_keys(data: Any) -> list[Any] | None:
    """What the columns are indexed by: pandas has numbers, too."""
    if isinstance(data, Mapping):
        return list(data)
    if is_lazy_frame(data):  # its attribute `columns` warns that it is slow
        return list(data.collect_schema().names())
    for attribute in ("column_names", "columns"):
        names = getattr(data, attribute, None)
        if names is not None and not callable(names):
            return list(names)
    return None


def is_lazy_frame(data: Any) -> bool:
    """A lazy frame of polars: a query that was not run yet."""
    return callable(getattr(data, "collect", None)) and callable(getattr(data, "collect_schema", None))


def rows_of(data: Any, argument: str) -> Iterator[Row]:
    """The rows of the data. Those of a table are dictionaries."""
    data = data.collect() if is_lazy_frame(data) else data
    iterable = hasattr(data, "__iter__") and not isinstance(data, bytes | bytearray)
    if not iterable and column_names(data) is None:
        raise InputTypeError(
            f"{argument} is {type_name(data)}; expected a list, an iterator, a table or a file."
        )
    empty = True
    for number, value in enumerate(values_of(data, argument)):
        empty = False
        yield Row(f"{argument}[{number}]", value)
    if empty:
        raise InputError(f"{argument} is empty. Give some data.")


def peek(rows: Iterator[Row]) -> tuple[Row, Iterator[Row]]:
    """The first row, and all rows."""
    first = next(rows)  # `rows_of` has raised an error if there is none
    return first, chain([first], rows)


def values_of(data: Any, argument: str) -> Iterable[Any]:
    names = column_keys(data)
    if names is None or is_row_data_set(data):
        return iter(data)
    if isinstance(data, Mapping) and any(column_names(value) is not None for value in data.values()):
        raise InputError(
            f"{argument} has several parts, {shown(names)}. Give one of them, such as {argument}[{names[0]!r}]."
        )
    return table_rows(data, names, argument)


def is_row_data_set(data: Any) -> bool:
    """A data set of `datasets`: it has columns, but iterating gives rows, without loading them all."""
    return hasattr(data, "column_names") and hasattr(data, "features")


def table_rows(data: Any, names: Sequence[Any], argument: str) -> Iterator[dict[str, Any]]:
    columns = [
        iter(column_values(column_of(data, name, argument), f"{argument}[{name!r}]")) for name in names
    ]
    end = object()
    while columns:
        values = [next(column, end) for column in columns]
        ended = [value is end for value in values]
        if all(ended):
            return
        if any(ended):
            short = names[ended.index(True)]
            raise InputError(f"the columns of {argument} have different lengths: {short!r} ends first.")
        yield dict(zip(map(str, names), values, strict=True))


def column_of(data: Any, name: Any, argument: str) -> Any:
    try:
        return data[name]
    except (TypeError, KeyError, IndexError):  # a lazy frame of polars, for example
        raise InputTypeError(
            f"{argument} is {type_name(data)}, whose columns cannot be read. Collect it into a table, or give its rows."
        ) from None


def column_values(column: Any, name: str) -> Iterable[Any]:
    if isinstance(column, str) or not hasattr(column, "__iter__"):
        raise InputTypeError(f"{name} is {type_name(column)}; expected a column of values.")
    values: Iterable[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column  # Arrow
    return values


def find_column(name: str, names: Sequence[str], argument: str) -> str:
    """A column that the caller named."""
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"It has {shown(names)}."
    raise InputError(f"{argument} has no column {name!r}. {hint}")


def first_of(known: Iterable[str], names: Sequence[str]) -> str | None:
    """The first known name among the names of columns, in any case of letters."""
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[each] for each in known if each in by_lower), None)


def as_path(value: Any) -> Path:
    return Path(os.fspath(value))
