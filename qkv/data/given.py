"""Texts and pairs that a function takes: a string or a path is a file, everything else is data of a Python program."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from qkv.data.parallel import ParallelText, sides_of_record
from qkv.data.python_rows import Row, is_path, rows_of
from qkv.errors import DataError, InputError, InputTypeError, type_name

TO_LIST = ("to_pylist", "to_list", "tolist")  # of columns in pyarrow, polars, and pandas and NumPy


def items_of(values: Any, name: str, expected: str = "texts") -> list[Any]:
    """The items of a list, an iterator or a column."""
    for method in TO_LIST:
        if callable(getattr(values, method, None)):
            values = getattr(values, method)()
            break
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputTypeError(
            f"{name} is {type_name(values)}; expected a list, an iterator or a column of {expected}."
        )
    found = list(values)
    if not found:
        raise InputError(f"{name} is empty. Give some {expected}.")
    return found


def texts_of(values: Any, name: str) -> list[str]:
    """A list of strings. The error names the first element that is none."""
    return [Row(f"{name}[{place}]", text).text() for place, text in enumerate(items_of(values, name))]


def check_length(count: int, name: str, expected: int, of: str) -> None:
    if count != expected:
        raise InputError(f"{name} has {count:,} elements, but {of} has {expected:,}. Give one for each.")


def pairs_of(values: Any, name: str, source: str | None = None, target: str | None = None) -> ParallelText:
    """Sentence pairs from rows: tuples of two, or dictionaries. Languages are the names of columns such as "en"."""
    found = list(iterate_pairs(values, name, source, target))
    return ParallelText(source=[each for each, _ in found], target=[each for _, each in found])


def iterate_pairs(
    values: Any, name: str, source: str | None = None, target: str | None = None
) -> Iterator[tuple[str, str]]:
    for row in rows_of(values, name):
        yield pair_in(row, source, target)


def pair_in(row: Row, source: str | None, target: str | None) -> tuple[str, str]:
    """A dictionary is read as a line of a .jsonl file."""
    value = row.value
    if isinstance(value, Mapping):
        try:
            sides = sides_of_record(dict(value), source, target, row.name)
        except DataError as error:
            raise InputError(str(error)) from None
        first, second = (Row(row.name, each).text() for each in sides)
        return first, second
    if is_path(value) or isinstance(value, bytes) or not hasattr(value, "__len__"):
        raise InputTypeError(f"{row.name} is {type_name(value)}; expected a pair of texts or a dictionary.")
    if len(value) != 2:
        items = "1 item" if len(value) == 1 else f"{len(value)} items"
        raise InputError(f"{row.name} has {items}; expected a pair of texts.")
    return row.text(0), row.text(1)
