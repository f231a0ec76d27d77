"""Which column of sentence pairs is the source, and which the target. A wrong guess trains the wrong direction, so there is none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qkv.data.language_codes import column_of_language, language_name
from qkv.data.python_rows import Row, find_column, first_of, peek, rows_of, shown
from qkv.errors import InputError, InputTypeError, type_name

PAIR = "a source and a target"
SOURCE_NAMES = ("source", "src")
TARGET_NAMES = ("target", "tgt", "trg", "reference")


@dataclass(frozen=True, kw_only=True)
class PairColumns:
    """What the caller says about the columns of sentence pairs."""

    source: str | None = None
    target: str | None = None
    source_language: str | None = None
    target_language: str | None = None


def read_pair_rows(
    data: Any, argument: str, given: PairColumns
) -> tuple[PairColumns, Iterator[tuple[str, str]]]:
    """The columns with the languages that the data name, and the pairs one by one."""
    first, rows = peek(rows_of(data, argument))
    nested = None
    if isinstance(first.value, Mapping):
        given, nested = resolve_columns(first.value, argument, given)
    return given, (pair_of(row, given, nested) for row in rows)


def pair_of(row: Row, columns: PairColumns, nested: str | None) -> tuple[str, str]:
    value = row.value
    if isinstance(value, Mapping) and columns.source is not None and columns.target is not None:
        inner = row if nested is None else Row(f"{row.name}[{nested!r}]", row.item(nested))
        return inner.text(columns.source), inner.text(columns.target)
    if isinstance(value, str | bytes) or not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
        raise InputTypeError(f"{row.name} is {type_name(value)}; expected {PAIR}.")
    if len(value) != 2 or isinstance(value, Mapping):
        items = "1 item" if len(value) == 1 else f"{len(value)} items"
        raise InputError(f"{row.name} has {items}; expected {PAIR}.")
    return row.text(0), row.text(1)


def resolve_columns(
    first: Mapping[str, Any], argument: str, given: PairColumns
) -> tuple[PairColumns, str | None]:
    """The names of both columns, and the column that they are nested in, if there is one."""
    nested = "translation" if isinstance(first.get("translation"), Mapping) else None
    names = [str(name) for name in (first if nested is None else first["translation"])]
    for side in (given.source, given.target):
        if side is not None:
            find_column(side, names, argument)
    source = given.source or column_of_language(given.source_language, names) or first_of(SOURCE_NAMES, names)
    target = given.target or column_of_language(given.target_language, names) or first_of(TARGET_NAMES, names)
    if len(names) == 2 and source is None and given.source_language is None and target is not None:
        [source] = set(names) - {target}
    if len(names) == 2 and target is None and given.target_language is None and source is not None:
        [target] = set(names) - {source}
    if source is None or target is None or source == target:
        raise InputError(f"{argument} has the columns {shown(names)}. {suggestion(names, given)}")
    return PairColumns(
        source=source,
        target=target,
        source_language=given.source_language or language_name(source),
        target_language=given.target_language or language_name(target),
    ), nested


def suggestion(names: Sequence[str], given: PairColumns) -> str:
    """What to give, so that the direction is known."""
    languages = [name for name in names if language_name(name) is not None and name.lower() != "id"]
    if len(languages) == 2 and given.source_language is None and given.target_language is None:
        source, target = (str(language_name(name)) for name in languages)
        return f"Choose the direction, for example source_language={source!r}, target_language={target!r}."
    return "Choose the source_column and the target_column."
