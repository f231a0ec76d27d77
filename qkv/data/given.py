"""Data as people have it in Python: lists, iterators, columns and frames of any library. A string or a path is a file.

Columns and frames are recognized by what they can do, so pandas, polars, datasets and pyarrow are not imported.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from qkv.data.parallel import ParallelText, sides_of_record
from qkv.errors import DataError, InputError, InputTypeError

TO_LIST = ("to_pylist", "to_list", "tolist")  # of pyarrow, polars, and pandas and NumPy
SEVERAL = "a list, an iterator or a column"


def is_file(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def as_path(value: Any) -> Path:
    return Path(os.fspath(value))


def kind_name(value: object) -> str:
    return "None" if value is None else type(value).__name__


def items_of(values: object, name: str, expected: str = "texts") -> list[Any]:
    """The items of a list, an iterator or a column."""
    for method in TO_LIST:
        if callable(getattr(values, method, None)):
            values = getattr(values, method)()
            break
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputTypeError(f"{name} is {kind_name(values)}; expected {SEVERAL} of {expected}.")
    found = list(values)
    if not found:
        raise InputError(f"{name} is empty: give at least one of its {expected}.")
    return found


def texts_of(values: object, name: str) -> list[str]:
    """A list of strings. The error names the first element that is none."""
    found = items_of(values, name)
    for place, text in enumerate(found):
        check_text(text, f"{name}[{place}]")
    return found


def check_text(text: object, where: str) -> None:
    if not isinstance(text, str):
        raise InputTypeError(f"{where} is {kind_name(text)}; expected str.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{where} has half a character (a lone \\uD800–\\uDFFF): correct it.") from None


def check_length(count: int, name: str, expected: int, of: str) -> None:
    if count != expected:
        raise InputError(f"{name} has {count:,} elements, but {of} has {expected:,}: give one for each.")


# Rows ------------------------------------------------------------------------------------------------


def rows_of(values: object, name: str) -> Iterator[Any]:
    """The rows of a list, an iterator or a table, one by one. Those of a table are dictionaries."""
    if isinstance(values, Mapping):
        return rows_of_columns(values, list(values), name)
    if callable(getattr(values, "to_pylist", None)):  # a table of pyarrow
        values = values.to_pylist()  # type: ignore[attr-defined]
    columns = getattr(values, "columns", None)
    if columns is not None and hasattr(values, "__getitem__"):  # a frame of pandas or polars
        return rows_of_columns(values, [str(each) for each in columns], name)
    if columns is None and callable(getattr(values, "tolist", None)):  # an array
        values = values.tolist()  # type: ignore[attr-defined]
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputTypeError(f"{name} is {kind_name(values)}; expected {SEVERAL} of rows, or a table.")
    return iter(values)


def rows_of_columns(table: Any, names: Sequence[str], name: str) -> Iterator[dict[str, Any]]:
    columns = {each: items_of(table[each], f"{name}[{each!r}]", "values") for each in names}
    lengths = {each: len(column) for each, column in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{each} {length:,}" for each, length in lengths.items())
        raise InputError(f"the columns of {name} differ in length: {shown}.")
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(names, row, strict=True))


def pairs_of(values: object, name: str, source: str | None = None, target: str | None = None) -> ParallelText:
    """Sentence pairs from rows: tuples of two, or dictionaries. `source` and `target` are languages, for columns like "en"."""
    found = list(iterate_pairs(values, name, source, target))
    if not found:
        raise InputError(f"{name} is empty: give at least one pair.")
    return ParallelText(source=[each for each, _ in found], target=[each for _, each in found])


def iterate_pairs(
    values: object, name: str, source: str | None = None, target: str | None = None
) -> Iterator[tuple[str, str]]:
    for place, row in enumerate(rows_of(values, name)):
        where = f"{name}[{place}]"
        sides = sides_of(row, where, source, target)
        for text in sides:
            check_text(text, where)
        yield sides


def sides_of(row: object, where: str, source: str | None, target: str | None) -> tuple[Any, Any]:
    if isinstance(row, Mapping):
        try:
            return sides_of_record(dict(row), source, target, where)
        except DataError as error:
            raise InputError(str(error)) from None
    if isinstance(row, str | bytes) or not isinstance(row, Sequence):
        raise InputTypeError(f"{where} is {kind_name(row)}; expected a pair of texts or a dictionary.")
    if len(row) != 2:
        raise InputError(f"{where} has {len(row)} elements; expected a pair of texts.")
    return row[0], row[1]
