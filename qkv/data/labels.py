"""Texts with labels, from the tab-separated files people have: one text or two in a row, and a class or a number.

    a fine film <TAB> good                            text, label
    A plane lands. <TAB> A plane takes off. <TAB> 1.2     text, second text, label

A first line of names (`label`, `sentence`, …) says which column is which, as does `columns`, by names or by
numbers from 1: "6,7,5" is the layout of STS-B. A first line that can only be one of names is read as such, too,
and `tell` is told so. Every fault is a sentence with the number of its line.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.data.lines import numbered_lines
from qkv.errors import UserError

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
# Words for missing values, never names of columns.
MISSING = ("nan", "na", "n/a", "none", "null", "nil", "inf", "missing", "unknown")
LONGEST_NAME = 40  # characters of a column's name
NEARLY_ALL = 0.8  # if this share of labels are numbers, others are mistakes
LARGEST = 1e30  # a number that squares and single precision hold
SHOWN = 8  # classes named in a complaint

Line = tuple[int, list[str]]
"""The number of a line, and its cells."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Texts, or pairs of texts, each with its label as it is written in the file."""

    where: str
    lines: list[int]  # the number of each row's line
    texts: list[str]
    seconds: list[str] | None  # of pairs
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def inputs(self) -> list[tuple[str, ...]]:
        """What a classifier is given: one text or two for each row."""
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
        """Numbers on a scale rather than names of classes: all can be read as numbers, and some have a point.

        A few others among them are refused: they would silently make a class of every number.
        """
        odd = [place for place, label in enumerate(self.labels) if not is_number(label)]
        points = any("." in label for label in self.labels if is_number(label))
        if odd and points and len(self) - len(odd) >= NEARLY_ALL * len(self):
            raise UserError(
                f"{self.where}, line {self.lines[odd[0]]}: the label '{self.labels[odd[0]]}' is not a number, and nearly "
                "all others are: write a number or remove the line, or give every class a name that is no number."
            )
        return points and not odd

    def numbers(self) -> list[float]:
        for line, label in zip(self.lines, self.labels, strict=True):
            if not is_number(label):
                raise UserError(f"{self.where}, line {line}: the label '{label}' is not a number.")
            if abs(float(label)) > LARGEST:
                raise UserError(
                    f"{self.where}, line {line}: {label} is too large a number to learn or compare."
                )
        return [float(label) for label in self.labels]

    def check_spread(self) -> None:
        """Numbers that are all the same leave nothing to learn, as one class does."""
        if len(set(self.numbers())) == 1:
            raise UserError(
                f"{self.where}: every label is the number {self.labels[0]}; give examples with different ones."
            )

    def classes(self) -> tuple[str, ...]:
        """The sorted labels; a single one is an error."""
        found = sorted(set(self.labels))
        if len(found) == 1:
            raise UserError(
                f"{self.where}: every label is '{found[0]}'; give examples of at least two classes."
            )
        return tuple(found)

    def places(self, classes: Sequence[str]) -> list[int]:
        """Where each row's label stands among the classes that a model knows."""
        place = {label: number for number, label in enumerate(classes)}
        for line, label in zip(self.lines, self.labels, strict=True):
            if label not in place:
                raise UserError(
                    f"{self.where}, line {line}: the label '{label}' is new; the model knows {some(classes)}."
                )
        return [place[label] for label in self.labels]


@dataclass(frozen=True)
class Columns:
    """Which columns hold what, from 0."""

    text: int
    second: int | None
    label: int

    @property
    def places(self) -> list[int]:
        """Text first and label last."""
        return [self.text, *([] if self.second is None else [self.second]), self.label]

    @property
    def needed(self) -> int:
        return 1 + max(self.places)


def read_labelled(path: Path, columns: str = "", tell: Callable[[str], None] = lambda line: None) -> Labelled:
    """Read a label file; `columns` is "text,label" or "text,second,label" as names or numbers, where they must be told."""
    rows = [(number, line.split("\t")) for number, line in numbered_lines(path) if line.strip()]
    number, first = rows[0]
    names, where = [cell.strip().lower() for cell in first], f"{path}, line {number}"
    places, named = told_layout(names, columns, where) if columns else layout(rows, names, where)
    if not named and are_names(rows, places):
        shown = some([first[place].strip() for place in places.places])
        tell(
            f"{where} ({shown}) is read as names of the columns; if it is an example, let another line be first."
        )
        named = True
    if named:
        rows = rows[1:]
    if not rows:
        raise UserError(f"{path} holds a line of names and no examples: give a file with labels in it.")
    exact = None if columns else len(first)
    kept = [checked(path, number, row, places, exact) for number, row in rows]
    return Labelled(
        where=str(path),
        lines=[number for number, _ in rows],
        texts=[row[0] for row in kept],
        seconds=None if places.second is None else [row[1] for row in kept],
        labels=[row[-1] for row in kept],
    )


def layout(rows: Sequence[Line], names: list[str], where: str) -> tuple[Columns, bool]:
    """Which columns to read, and whether the first line names text and label."""
    known = named_layout(names, where)
    if known is not None:
        return known, True
    concluded = concluded_layout(names, where)
    if concluded is not None and are_names(rows, concluded):
        return concluded, False
    if len(names) == 1:
        raise UserError(f"{where} has no tab: each line is a text, a tab and its label.")
    if len(names) > 3:
        raise UserError(
            f"{where} has {len(names)} columns, and its names do not say which are text and label: choose the columns, such "
            "as 1,2 for text and label or 6,7,5 for two texts and label."
        )
    by_place = Columns(0, 1 if len(names) == 3 else None, len(names) - 1)
    if KNOWN & set(names) and are_names(rows, by_place):
        raise UserError(
            f"{where} names {some(names)}, and it is not known what each is: choose the columns, text first "
            "and label last."
        )
    return by_place, False


def are_names(rows: Sequence[Line], columns: Columns) -> bool:
    """Is the first line one of names, though they are not all known?

    Its label is that of no other line, and either a cell is a known name, or the labels of all other lines are
    numbers or come several times.
    """
    (_, first), *others = rows
    if len(first) < columns.needed:
        return False
    cells = [first[place].strip() for place in columns.places]
    counts = Counter(row[columns.label].strip() for _, row in others if len(row) > columns.label)
    if cells[-1] in counts or not all(map(may_be_name, cells)):
        return False
    if any(cell.lower() in KNOWN for cell in cells):
        return True
    return bool(counts) and (all(map(is_number, counts)) or (len(counts) > 1 and min(counts.values()) > 1))


def may_be_name(cell: str) -> bool:
    return cell[:1].isalpha() and len(cell) <= LONGEST_NAME and cell.lower() not in MISSING


def told_layout(names: list[str], columns: str, where: str) -> tuple[Columns, bool]:
    wanted = [each.strip().lower() for each in columns.split(",")]
    if len(wanted) not in (2, 3) or not all(wanted) or len(set(wanted)) < len(wanted):
        raise UserError(
            f"columns must be two or three different columns separated by commas, such as 1,2 or 6,7,5, not '{columns}'."
        )
    if all(each.isdecimal() for each in wanted):
        places = [int(each) - 1 for each in wanted]
        if min(places) < 0:
            raise UserError("columns are counted from 1: there is no column 0.")
        found = Columns(places[0], places[1] if len(places) == 3 else None, places[-1])
        # A line of names may stand above numbered columns, too.
        header = found.needed <= len(names) and names[found.label] in LABEL_NAMES
        return found, header
    missing = [each for each in wanted if each not in names]
    if missing:
        raise UserError(f"{where} names no column '{missing[0]}', but {some(names)}.")
    places = [names.index(each) for each in wanted]
    return Columns(places[0], places[1] if len(places) == 3 else None, places[-1]), True


def named_layout(names: list[str], where: str) -> Columns | None:
    """The columns by the names people give them: a label, and a text or two."""

    def find(known: Sequence[str]) -> int | None:
        return next((names.index(name) for name in known if name in names), None)

    text, second, label = find(TEXT_NAMES), find(SECOND_NAMES), find(LABEL_NAMES)
    if text is None or label is None:
        return None
    texts = [place for place, name in enumerate(names) if name in TEXT_NAMES]
    if second is not None or len(texts) == 1:
        return Columns(text, second, label)
    if len(texts) > 2:
        raise UserError(
            f"{where} names {len(texts)} texts, {some([names[place] for place in texts])}: choose the columns to read."
        )
    return Columns(texts[0], texts[1], label)  # "question" and "sentence" are a pair


def concluded_layout(names: list[str], where: str) -> Columns | None:
    """Where text or label is not among the known names, the one column that is unknown is what is missing."""
    unknown = [place for place, name in enumerate(names) if name not in KNOWN]
    if len(unknown) != 1:
        return None
    for missing in (LABEL_NAMES[0], TEXT_NAMES[0]):
        filled = [missing if place in unknown else name for place, name in enumerate(names)]
        found = named_layout(filled, where)
        if found is not None:
            return found
    return None


def checked(path: Path, number: int, row: list[str], columns: Columns, exact: int | None) -> list[str]:
    """The cells that are wanted, text first and label last."""
    where = f"{path}, line {number}"
    if exact is not None and len(row) != exact:
        raise UserError(
            f"{where} has {counted(len(row))}, but the first line has {exact}: use the same number, or choose the columns "
            "to read."
        )
    if len(row) < columns.needed:
        raise UserError(f"{where} has {counted(len(row))}, but column {columns.needed} is to be read.")
    cells = [row[place].strip() for place in columns.places]
    if not cells[-1]:
        raise UserError(f"{where} has no label: write one, or remove the line.")
    if not all(cells):
        raise UserError(f"{where} has no text: write one, or remove the line.")
    return cells


def counted(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"


def is_number(label: str) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
