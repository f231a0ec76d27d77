"""Texts and pairs that a function takes: a string or a path is a file, everything else is data of a Python program."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from qkv.data.pair_columns import PairColumns, read_pair_rows
from qkv.data.parallel import ParallelText
from qkv.data.python_rows import Row
from qkv.errors import InputError, InputTypeError, type_name

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


def pairs_of(values: Any, name: str, columns: PairColumns) -> ParallelText:
    """Sentence pairs from rows: tuples of two, or dictionaries."""
    found = list(iterate_pairs(values, name, columns))
    return ParallelText(source=[each for each, _ in found], target=[each for _, each in found])


def iterate_pairs(values: Any, name: str, columns: PairColumns) -> Iterator[tuple[str, str]]:
    _, pairs = read_pair_rows(values, name, columns)
    yield from pairs
