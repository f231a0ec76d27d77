"""A test set for translations: sources and references from files, or from lists and columns in Python."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.data.given import items_of, pairs_of, texts_of
from qkv.data.pair_columns import PairColumns
from qkv.data.parallel import languages_in, read_lines, read_pairs
from qkv.data.python_rows import as_path, is_path
from qkv.errors import DataError, InputError
from qkv.evaluation.evaluation import Sentences


@dataclass(frozen=True, kw_only=True)
class Column:
    """Texts, and where they came from."""

    argument: str
    texts: list[Any]  # of strings; None for a sentence with fewer references than others
    path: Path | None = None

    @classmethod
    def read(cls, given: Any, argument: str) -> Column:
        if is_path(given):
            return cls(argument=argument, texts=read_lines(as_path(given)), path=as_path(given))
        return cls(argument=argument, texts=texts_of(given, argument))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def name(self) -> str:
        """For error messages."""
        return self.argument if self.path is None else str(self.path)

    @property
    def origin(self) -> str:
        """For reports."""
        return list_name(len(self)) if self.path is None else str(self.path)


def list_name(count: int) -> str:
    return "1 text" if count == 1 else f"{count:,} texts"


@dataclass(frozen=True, kw_only=True)
class TestSet:
    __test__ = False  # not a test of pytest

    sentences: Sentences
    first: Column
    """What other texts are compared with in length."""
    source: str | None
    """Where the sources came from."""
    references: list[str]

    @classmethod
    def of_pairs(cls, given: Any, columns: PairColumns) -> TestSet:
        path = as_path(given) if is_path(given) else None
        if path is None:
            pairs = pairs_of(given, "pairs", columns)
        else:
            source, target = languages_in(path, columns.source_language, columns.target_language)
            pairs = read_pairs(path, source_language=source, target_language=target)
        first = Column(argument="pairs", texts=list(pairs.source), path=path)
        sentences = Sentences(source=first.texts, references=[pairs.target])
        return cls(sentences=sentences, first=first, source=first.origin, references=[first.origin])

    @classmethod
    def of_columns(cls, source: Any, reference: Any, count: int | None) -> TestSet:
        """`count` is the number of translations, if there is no source."""
        sources = None if source is None else Column.read(source, "source")
        references = references_of(reference, count if sources is None else len(sources))
        columns = references if sources is None else [sources, *references]
        check_equally_long(columns)
        return cls(
            sentences=Sentences(
                source=None if sources is None else sources.texts,
                references=[each.texts for each in references],
            ),
            first=columns[0],
            source=None if sources is None else sources.origin,
            references=[each.origin for each in references],
        )


def references_of(given: Any, count: int | None) -> list[Column]:
    """Files, one text for each sentence, several for each sentence, or several lists as sacrebleu takes them."""
    if is_path(given):
        return [Column.read(given, "reference")]
    items = items_of(given, "reference")
    if all(isinstance(each, os.PathLike) for each in items):
        return [Column.read(each, "reference") for each in items]
    if isinstance(items[0], str) or items[0] is None:
        return [Column.read(items, "reference")]
    rows = [texts_of(each, f"reference[{place}]") for place, each in enumerate(items)]
    if count is None or len(rows) == count:
        most = max(map(len, rows))
        padded = [[*each, *[None] * (most - len(each))] for each in rows]
        return [Column(argument="reference", texts=[row[place] for row in padded]) for place in range(most)]
    if any(len(each) != count for each in rows):
        raise InputError(
            f"reference has {len(rows):,} lists for {count:,} sentences. Give a text or a list of texts for each "
            f"sentence, or lists of {count:,} texts."
        )
    return [Column(argument=f"reference[{place}]", texts=list(each)) for place, each in enumerate(rows)]


def check_equally_long(columns: list[Column]) -> None:
    first, *rest = columns
    others = [f"{each.name} has {len(each):,}" for each in rest if len(each) != len(first)]
    if not others:
        return
    if all(each.path is not None for each in columns):
        raise DataError(
            f"{first.name} has {len(first):,} lines but {' and '.join(others)}; the files must match line by line."
        )
    raise InputError(
        f"{first.name} has {list_name(len(first))} but {' and '.join(others)}; they must match one by one."
    )
