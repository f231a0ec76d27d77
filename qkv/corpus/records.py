"""Sentence pairs, read one by one from common file formats."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from qkv.data.lines import numbered_lines, without_compression
from qkv.data.parallel import READERS, iterate_pairs
from qkv.errors import DataError


@dataclass(frozen=True)
class Record:
    source: str
    target: str
    rest: str = ""  # further columns of a .tsv, with the tab before them

    def line(self) -> str:
        return f"{self.source}\t{self.target}{self.rest}\n"


NAMED = re.compile(r"\.([a-z]{2,3})[-_]([a-z]{2,3})\.", re.IGNORECASE)  # train.en-de.tsv

Corpus = Callable[[], Iterable[Record]]
"""Every call yields all records, always the same."""


def corpus_of(files: Sequence[Path], source_language: str | None, target_language: str | None) -> Corpus:
    def records() -> Iterator[Record]:
        for path in files:
            if is_tsv(path):
                yield from tsv_records(path)
            else:
                for source, target in iterate_pairs(path, source_language, target_language):
                    yield record(source, target)

    return records


def corpus_of_two(source: Path, target: Path) -> Corpus:
    """Two text files that are translations of each other, line by line."""

    def records() -> Iterator[Record]:
        texts = (line for _, line in numbered_lines(source)), (line for _, line in numbered_lines(target))
        number = 0
        for number, (first, second) in enumerate(zip_longest(*texts), start=1):
            if first is None or second is None:
                shorter = source if first is None else target
                raise DataError(
                    f"{shorter} has only {number - 1} lines: line N of {source.name} must translate line N of "
                    f"{target.name}."
                )
            yield record(first, second)

    return records


def is_tsv(path: Path) -> bool:
    return suffix_of(path) == ".tsv"


def holds_pairs(path: Path) -> bool:
    return suffix_of(path) in READERS


def suffix_of(path: Path) -> str:
    return Path(without_compression(path)).suffix


def tsv_records(path: Path) -> Iterator[Record]:
    for number, line in numbered_lines(path):
        source, tab, others = line.partition("\t")
        if tab:
            target, tab, rest = others.partition("\t")
            yield record(source, target, tab + rest)
        elif line.strip():
            raise DataError(
                f"{path}, line {number} has no tab: each line is a source sentence, a tab, a target sentence."
            )


def record(source: str, target: str, rest: str = "") -> Record:
    """A record that fits a line of a .tsv: tabs inside a sentence become spaces."""
    return Record(source.replace("\t", " ").strip(), target.replace("\t", " ").strip(), rest)


def languages_in_name(path: Path) -> tuple[str | None, str | None]:
    found = NAMED.search(path.name)
    return (found[1].lower(), found[2].lower()) if found else (None, None)
