"""Labeled texts from tab-separated files: one or two texts per line, and a class or a number.

    a fine film <TAB> good                                text, label
    A plane lands. <TAB> A plane takes off. <TAB> 1.2     text, second text, label

The columns are found by a header (`label`, `sentence`, …), or chosen by names or by numbers from 1: "6,7,5" is the layout
of STS-B. A first line that looks like a header is skipped, and `say` reports it. Errors name the line.

In a .jsonl file each line is an object, {"text": "a fine film", "label": "good"}. Its keys are the names of the columns.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.data.lines import numbered_lines, reject_lone_surrogates
from qkv.errors import DataError

TEXT_NAMES = (
    "text",
    "sentence",
    "content",
    "text1",
    "sentence1",
    "premise",
    "question1",
    "question",
    "review",
)
SECOND_NAMES = ("text2", "sentence2", "hypothesis", "question2", "second")
LABEL_NAMES = ("label", "labels", "class", "score", "similarity", "gold_label", "target", "category")
KNOWN = frozenset([*TEXT_NAMES, *SECOND_NAMES, *LABEL_NAMES])
# Placeholders for missing values, never column names.
MISSING = ("nan", "na", "n/a", "none", "null", "nil", "inf", "missing", "unknown")
LONGEST_NAME = 40  # characters of a column's name
NEARLY_ALL = 0.8  # if this share of labels are numbers, others are mistakes
LARGEST = 1e30  # so that its square fits into float64, and it fits into float32
SHOWN = 8  # names listed in an error message

Line = tuple[int, list[str]]
"""A line number and the cells of the line."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Texts or pairs of texts, with labels as in the file."""

    where: str
    lines: list[int]  # line numbers
    texts: list[str]
    seconds: list[str] | None  # of pairs
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def inputs(self) -> list[tuple[str, ...]]:
        """The one or two texts of each row."""
        if self.seconds is None:
            return [(text,) for text in self.texts]
        return list(zip(self.texts, self.seconds, strict=True))

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for texts, label in zip(self.inputs, self.labels, strict=True):
            digest.update("\t".join([*texts, f"{label}\n"]).encode())
        return digest.hexdigest()

    def select(self, rows: Sequence[int]) -> "Labelled":
        def chosen(values: list[Any]) -> list[Any]:
            return [values[row] for row in rows]

        return Labelled(
            where=self.where,
            lines=chosen(self.lines),
            texts=chosen(self.texts),
            seconds=None if self.seconds is None else chosen(self.seconds),
            labels=chosen(self.labels),
        )

    def are_numbers(self) -> bool:
        """Whether the labels are numbers and not classes: all are numbers, and some have a decimal point.

        If nearly all are numbers, the others are an error, because otherwise every number would become a class.
        """
        odd = [place for place, label in enumerate(self.labels) if not is_number(label)]
        points = any("." in label for label in self.labels if is_number(label))
        if odd and points and len(self) - len(odd) >= NEARLY_ALL * len(self):
            raise DataError(
                f"{self.where}, line {self.lines[odd[0]]}: the label '{self.labels[odd[0]]}' is not a number, but nearly "
                "all others are. Correct it or remove the line; or, if labels are classes, rename those that are numbers."
            )
        return points and not odd

    def numbers(self) -> list[float]:
        for line, label in zip(self.lines, self.labels, strict=True):
            if not is_number(label):
                raise DataError(f"{self.where}, line {line}: the label '{label}' is not a number.")
            if abs(float(label)) > LARGEST:
                raise DataError(f"{self.where}, line {line}: {label} is too large.")
        return [float(label) for label in self.labels]

    def check_spread(self) -> None:
        """Raise an error if all numbers are equal."""
        if len(set(self.numbers())) == 1:
            raise DataError(
                f"{self.where}: every label is {self.labels[0]}; give examples with different numbers."
            )

    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted. A single class is an error."""
        found = sorted(set(self.labels))
        if len(found) == 1:
            raise DataError(
                f"{self.where}: every label is '{found[0]}'; give examples of at least two classes."
            )
        return tuple(found)

    def places(self, classes: Sequence[str]) -> list[int]:
        """The index of each label in these classes."""
        place = {label: number for number, label in enumerate(classes)}
        for line, label in zip(self.lines, self.labels, strict=True):
            if label not in place:
                raise DataError(
                    f"{self.where}, line {line}: the label '{label}' is unknown; the model has {quote_some(classes)}."
                )
        return [place[label] for label in self.labels]


@dataclass(frozen=True)
class Columns:
    """The indices of the columns, from 0."""

    text: int
    second: int | None
    label: int

    @property
    def places(self) -> list[int]:
        """All columns, text first and label last."""
        return [self.text, *([] if self.second is None else [self.second]), self.label]

    @property
    def needed(self) -> int:
        return 1 + max(self.places)


def read_labelled(path: Path, columns: str = "", say: Callable[[str], None] = lambda line: None) -> Labelled:
    """Read a label file. `columns` is "text,label" or "text,second,label", as names or numbers; empty to detect them."""
    rows = list(rows_in(path))
    number, first = rows[0]
    names, where = [cell.strip().lower() for cell in first], f"{path}, line {number}"
    places, named = given_layout(names, columns, where) if columns else layout(rows, names, where)
    if not named and not is_json(path) and is_header(rows, places):
        shown = quote_some([first[place].strip() for place in places.places])
        say(f"{where} ({shown}) is read as a header; if it is an example, move another line to the top.")
        named = True
    if named or is_json(path):
        rows = rows[1:]
    if not rows:
        raise DataError(f"{path} has a header but no examples: give a file with labels.")
    exact = None if columns else len(first)
    kept = [select_cells(path, number, row, places, exact) for number, row in rows]
    return Labelled(
        where=str(path),
        lines=[number for number, _ in rows],
        texts=[row[0] for row in kept],
        seconds=None if places.second is None else [row[1] for row in kept],
        labels=[row[-1] for row in kept],
    )


def rows_in(path: Path) -> Iterator[Line]:
    """The lines of a file that are not blank. Of a .jsonl file, the first has the names of the columns."""
    lines = ((number, line) for number, line in numbered_lines(path) if line.strip())
    if not is_json(path):
        yield from ((number, line.split("\t")) for number, line in lines)
        return
    names: list[str] | None = None
    for number, line in lines:
        record = json_object(line, f"{path}, line {number}")
        if names is None:
            names = list(record)
            yield number, names
        if list(record) != names:
            raise DataError(
                f"{path}, line {number} has the columns {quote_some(list(record))}, but the first line has "
                f"{quote_some(names)}."
            )
        yield number, list(record.values())


def is_json(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(".jsonl")


def json_object(line: str, where: str) -> dict[str, str]:
    """An object of strings and numbers; numbers as they are written."""
    try:
        record = json.loads(line, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        raise DataError(f"{where} is not JSON: write an object on each line.") from None
    if not isinstance(record, dict) or not all(isinstance(value, str) for value in record.values()):
        raise DataError(f"{where} must be an object of strings and numbers.")
    for value in record.values():
        reject_lone_surrogates(value, where)
    return record


def layout(rows: Sequence[Line], names: list[str], where: str) -> tuple[Columns, bool]:
    """The columns to read, and whether the first line is a header."""
    known = named_layout(names, where)
    if known is not None:
        return known, True
    concluded = inferred_layout(names, where)
    if concluded is not None and is_header(rows, concluded):
        return concluded, False
    if len(names) == 1:
        raise DataError(f"{where} has no tab: each line must be a text, a tab and its label.")
    if len(names) > 3:
        raise DataError(
            f"{where} has {len(names)} columns, and no header names the text and the label: choose the columns, such "
            "as 1,2 for text and label or 6,7,5 for two texts and label."
        )
    by_place = Columns(0, 1 if len(names) == 3 else None, len(names) - 1)
    if KNOWN & set(names) and is_header(rows, by_place):
        raise DataError(
            f"{where} has the columns {quote_some(names)}, and it is unclear which are text and label: choose the columns, text "
            "first and label last."
        )
    return by_place, False


def is_header(rows: Sequence[Line], columns: Columns) -> bool:
    """Whether the first line looks like a header, although not all of its names are known.

    Its label must occur in no other line. Also, a cell must be a known name, or the labels of all other lines must be
    numbers or occur several times.
    """
    (_, first), *others = rows
    if len(first) < columns.needed:
        return False
    cells = [first[place].strip() for place in columns.places]
    counts = Counter(row[columns.label].strip() for _, row in others if len(row) > columns.label)
    if cells[-1] in counts or not all(map(could_be_name, cells)):
        return False
    if any(cell.lower() in KNOWN for cell in cells):
        return True
    return bool(counts) and (all(map(is_number, counts)) or (len(counts) > 1 and min(counts.values()) > 1))


def could_be_name(cell: str) -> bool:
    return cell[:1].isalpha() and len(cell) <= LONGEST_NAME and cell.lower() not in MISSING


def given_layout(names: list[str], columns: str, where: str) -> tuple[Columns, bool]:
    wanted = [each.strip().lower() for each in columns.split(",")]
    if len(wanted) not in (2, 3) or not all(wanted) or len(set(wanted)) < len(wanted):
        raise DataError(
            f"columns must be two or three different columns separated by commas, such as 1,2 or 6,7,5, not '{columns}'."
        )
    if all(each.isdecimal() for each in wanted):
        places = [int(each) - 1 for each in wanted]
        if min(places) < 0:
            raise DataError("columns are counted from 1: there is no column 0.")
        found = Columns(places[0], places[1] if len(places) == 3 else None, places[-1])
        # Columns may be given by number although there is a header.
        header = found.needed <= len(names) and names[found.label] in LABEL_NAMES
        return found, header
    missing = [each for each in wanted if each not in names]
    if missing:
        raise DataError(f"{where} has no column '{missing[0]}', only {quote_some(names)}.")
    places = [names.index(each) for each in wanted]
    return Columns(places[0], places[1] if len(places) == 3 else None, places[-1]), True


def named_layout(names: list[str], where: str) -> Columns | None:
    """The columns by their usual names, or None."""

    def find(known: Sequence[str]) -> int | None:
        return next((names.index(name) for name in known if name in names), None)

    text, second, label = find(TEXT_NAMES), find(SECOND_NAMES), find(LABEL_NAMES)
    if text is None or label is None:
        return None
    texts = [place for place, name in enumerate(names) if name in TEXT_NAMES]
    if second is not None or len(texts) == 1:
        return Columns(text, second, label)
    if len(texts) > 2:
        raise DataError(
            f"{where} has {len(texts)} text columns, {quote_some([names[place] for place in texts])}: choose the columns to read."
        )
    return Columns(texts[0], texts[1], label)  # "question" and "sentence" are a pair


def inferred_layout(names: list[str], where: str) -> Columns | None:
    """If exactly one column name is unknown, assume that it is the missing text or label."""
    unknown = [place for place, name in enumerate(names) if name not in KNOWN]
    if len(unknown) != 1:
        return None
    for missing in (LABEL_NAMES[0], TEXT_NAMES[0]):
        filled = [missing if place in unknown else name for place, name in enumerate(names)]
        found = named_layout(filled, where)
        if found is not None:
            return found
    return None


def select_cells(path: Path, number: int, row: list[str], columns: Columns, exact: int | None) -> list[str]:
    """The cells of these columns, text first and label last."""
    where = f"{path}, line {number}"
    if exact is not None and len(row) != exact:
        raise DataError(
            f"{where} has {column_count(len(row))}, but the first line has {exact}: use the same number, or choose the columns "
            "to read."
        )
    if len(row) < columns.needed:
        raise DataError(f"{where} has {column_count(len(row))}, but column {columns.needed} is needed.")
    cells = [row[place].strip() for place in columns.places]
    if not cells[-1]:
        raise DataError(f"{where} has no label: write one, or remove the line.")
    if not all(cells):
        raise DataError(f"{where} has no text: write one, or remove the line.")
    return cells


def column_count(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"


def is_number(label: str) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def quote_some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
