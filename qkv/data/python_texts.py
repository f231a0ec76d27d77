"""Sentence pairs, texts and labeled texts of a Python program, written to .jsonl files that the readers read back."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.data.labels import LABEL_NAMES, SECOND_NAMES, TEXT_NAMES
from qkv.data.pair_columns import PairColumns, read_pair_rows
from qkv.data.python_rows import Row, find_column, first_of, peek, rows_of, shown
from qkv.errors import InputError, InputTypeError, type_name


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write records as lines of JSON, one at a time, so that data need not fit into memory."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return path


# Sentence pairs ------------------------------------------------------------------------------------------


def write_pairs(path: Path, data: Any, argument: str, given: PairColumns) -> PairColumns:
    """Write sentence pairs. Returns the columns with the languages that the data name."""
    found, pairs = read_pair_rows(data, argument, given)
    write_lines(path, ({"source": source, "target": target} for source, target in pairs))
    return found


# Texts ---------------------------------------------------------------------------------------------------


def write_texts(path: Path, data: Any, argument: str, column: str | None) -> None:
    first, rows = peek(rows_of(data, argument))
    if isinstance(first.value, str) and len(first.value) < 300 and Path(first.value).is_file():
        raise InputError(
            f"{first.name} is the name of a file. To read files, give pathlib.Path objects; strings are texts."
        )
    key = text_column(first.value, argument, column) if isinstance(first.value, dict) else None
    write_lines(path, ({"text": some_text(row, key)} for row in rows))


def text_column(first: dict[str, Any], argument: str, column: str | None) -> str:
    names = [str(name) for name in first]
    if column is not None:
        return find_column(column, names, argument)
    found = first_of(TEXT_NAMES, names) or (names[0] if len(names) == 1 else None)
    if found is None:
        raise InputError(f"{argument} has the columns {shown(names)}. Choose the text_column.")
    return found


def some_text(row: Row, key: int | str | None = None) -> str:
    text = row.text(key)
    if not text.strip():
        raise InputError(f"{row.name} is blank. Write a text, or leave it out.")
    return text


# Labelled texts ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LabelColumns:
    """What the caller says about the columns of labeled texts."""

    text: str | None = None
    second: str | None = None
    label: str | None = None


def write_labelled(
    path: Path, data: Any, argument: str, columns: LabelColumns, *, choice: bool = False
) -> None:
    """Write texts, or pairs of texts, with labels. With `choice`, texts with answers and the number of the right one."""
    first, rows = peek(rows_of(data, argument))
    keys = label_keys(first.value, argument, columns) if isinstance(first.value, dict) else None
    names = class_names(data, keys[-1]) if keys else None
    expected = len(keys or first.value) if choice else None

    def record(row: Row) -> dict[str, str]:
        places = row_places(row, expected) if keys is None else keys
        *texts, label = places
        cells = [some_text(row, place) for place in texts]
        titles = ["text", *(["second"] if not choice else [f"answer {n}" for n in range(1, len(cells))])]
        return {**dict(zip(titles, cells, strict=False)), "label": label_text(row, label, names)}

    write_lines(path, map(record, rows))


def row_places(row: Row, expected: int | None) -> Sequence[int]:
    value = row.value
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__len__"):
        raise InputTypeError(f"{row.name} is {type_name(value)}; expected a text and a label.")
    if expected is None and len(value) not in (2, 3):
        items = "1 item" if len(value) == 1 else f"{len(value)} items"
        raise InputError(f"{row.name} has {items}; expected one or two texts and a label.")
    return range(len(value))


def label_keys(first: dict[str, Any], argument: str, columns: LabelColumns) -> list[str]:
    """The columns: one or two texts, and the label."""
    names = [str(name) for name in first]
    for wanted in (columns.text, columns.second, columns.label):
        if wanted is not None:
            find_column(wanted, names, argument)
    label = columns.label or first_of(LABEL_NAMES, names)
    others = [name for name in names if name != label]
    text = columns.text or first_of(TEXT_NAMES, others) or (others[0] if len(others) == 1 else None)
    if label is None or text is None:
        missing = "label_column" if label is None else "text_column"
        raise InputError(f"{argument} has the columns {shown(names)}. Choose the {missing}.")
    second = columns.second or first_of(SECOND_NAMES, [name for name in others if name != text])
    return [text, *([] if second is None else [second]), label]


def class_names(data: Any, column: str) -> Sequence[str] | None:
    """The names of the classes, if a data set of `datasets` stores their numbers."""
    features: Any = getattr(data, "features", None)
    feature = features.get(column) if hasattr(features, "get") else None
    names = getattr(feature, "names", None)
    return list(names) if names else None


def label_text(row: Row, place: int | str, names: Sequence[str] | None = None) -> str:
    value = row.item(place)
    if hasattr(value, "item") and not isinstance(value, str) and getattr(value, "ndim", 1) == 0:
        value = value.item()  # a scalar of NumPy or torch
    if isinstance(value, bool | int) and names is not None and 0 <= value < len(names):
        value = names[value]
    if isinstance(value, float) and value != value:
        raise InputError(f"{row.name}[{place!r}] is nan; expected a label.")
    if isinstance(value, int | float):
        return str(value)
    label = Row(f"{row.name}[{place!r}]", value)
    if not isinstance(value, str):
        raise InputTypeError(f"{label.name} is {type_name(value)}; expected a label: str, int or float.")
    return some_text(label)
