"""Sentence pairs from two plain files, or from .tsv, .jsonl, .tmx or .po, also gzipped.

Every problem in a file raises a QkvError. Sentences contain no line breaks and can be encoded as UTF-8, so later code
need not check.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from qkv.data.language_codes import column_of_language
from qkv.data.language_tags import check_different, join_tags, language_tag
from qkv.data.lines import numbered_lines, one_line, open_file, reject_lone_surrogates, without_compression
from qkv.data.pair_facts import Hashes, Lengths, hashes_of, lengths_of
from qkv.data.po import read_po
from qkv.data.tables import read_rows
from qkv.data.tmx import read_tmx, tmx_direction
from qkv.errors import DataError


@dataclass(frozen=True, kw_only=True)
class ParallelText:
    """Sentences and their translations: `target[i]` translates `source[i]`."""

    source: Sequence[str]
    target: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(f"{len(self.source)} source sentences but {len(self.target)} target sentences")

    def __len__(self) -> int:
        return len(self.source)

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for source, target in zip(self.source, self.target, strict=True):
            digest.update(f"{source}\t{target}\n".encode())
        return digest.hexdigest()

    def stripped(self) -> "ParallelText":
        """Without white space around the sentences."""
        return ParallelText(
            source=[text.strip() for text in self.source], target=[text.strip() for text in self.target]
        )

    def select(self, rows: NDArray[Any]) -> "ParallelText":
        """Some of the pairs, in this order."""
        chosen: list[int] = rows.tolist()
        return ParallelText(
            source=[self.source[row] for row in chosen], target=[self.target[row] for row in chosen]
        )

    def in_memory(self) -> "ParallelText":
        """The same pairs as lists."""
        return self

    def lengths(self) -> Lengths:
        """The length of both sides of every pair, as `text_length` counts it."""
        return lengths_of(self.source, self.target)

    def hashes(self) -> Hashes:
        """A hash of every pair."""
        return hashes_of(map(pair_line, self.source, self.target))


def pair_line(source: str, target: str) -> str:
    """A pair as one text. Sentences contain no line breaks, so different pairs are different texts."""
    return f"{source}\n{target}"


Reader = Callable[[Path, str | None, str | None], Iterable[tuple[str, str]]]


def read_pairs(
    path: Path, *, source_language: str | None = None, target_language: str | None = None
) -> ParallelText:
    """Read one file with both sides. Its suffix determines the format.

    Files may name their languages (.tmx, .jsonl). "en" matches "en-US", and "en-US" matches "en", but "pt-BR" does not match
    "pt-PT".
    """
    pairs = list(iterate_pairs(path, source_language, target_language))
    return ParallelText(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs])


def iterate_pairs(
    path: Path, source_language: str | None, target_language: str | None
) -> Iterator[tuple[str, str]]:
    """Read the pairs of a file one by one."""
    name = without_compression(path)
    reader = READERS.get(Path(name).suffix)
    if reader is None:
        with open_file(path):  # report a missing file or a folder first
            pass
        known = ", ".join(READERS)
        raise DataError(
            f"{path} has an unknown suffix. Supported are {known}, also with .gz, or two plain files with one sentence "
            "per line."
        )
    empty = True
    for pair in reader(path, source_language, target_language):
        empty = False
        yield pair
    if empty:
        raise DataError(f"{path} has no sentence pairs: give a file with translations.")


def languages_in(path: Path, source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The two languages as given, or as named in the file."""
    if without_compression(path).endswith(".tmx"):
        return tmx_direction(path, source, target)
    return source, target


def read_two(source: Path, target: Path) -> ParallelText:
    """Read two plain files that match line by line."""
    pairs = list(iterate_two(source, target))
    return ParallelText(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs])


def iterate_two(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    lines = [(line for _, line in numbered_lines(path)) for path in (source, target)]
    for count, (one, other) in enumerate(zip_longest(*lines)):
        if one is None or other is None:
            more = count + 1 + sum(1 for line in chain(*lines))
            both = (more, count) if other is None else (count, more)
            raise DataError(
                f"{source} has {both[0]:,} lines but {target} has {both[1]:,}; the files must match line by line."
            )
        yield one, other


def read_lines(path: Path) -> list[str]:
    """Read a plain file with one sentence per line. Empty lines are kept, so that line numbers stay correct."""
    return [line for _, line in numbered_lines(path)]


def _read_tsv(path: Path, _source: str | None, _target: str | None) -> Iterator[tuple[str, str]]:
    for number, line in numbered_lines(path):
        columns = line.split("\t", 2)
        if len(columns) >= 2:
            yield columns[0], columns[1]
        elif line.strip():  # empty lines are skipped
            raise DataError(
                f"{path}, line {number} has no tab: each line must be a source sentence, a tab and a target sentence."
            )


def _read_jsonl(path: Path, source: str | None, target: str | None) -> Iterator[tuple[str, str]]:
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataError(f"{where} is not valid JSON ({reason}): write one object per line.") from None
        if not isinstance(record, dict):
            raise DataError(
                f'{where} is not a JSON object: write {{"source": "…", "target": "…"}} on each line.'
            )
        first, second = sides_of_record(record, source, target, where)
        yield _json_text(first, where), _json_text(second, where)


def sides_of_record(
    record: dict[str, object], source: str | None, target: str | None, where: str
) -> tuple[object, object]:
    if "source" in record and "target" in record:
        return record["source"], record["target"]
    translation = record.get("translation")
    sides = translation if isinstance(translation, dict) else record
    if source is None or target is None:
        raise DataError(
            f'{where} has no "source" and "target" but {join_tags(map(language_tag, sides))}: '
            "give the source and target languages."
        )
    found = []
    for language in check_different(source, target):
        name = column_of_language(language, list(sides))
        if name is None:
            raise DataError(
                f"{where} has no {language} but {join_tags(map(language_tag, sides))}: "
                "choose the source and target languages from these, or correct the line."
            )
        found.append(sides[name])
    return found[0], found[1]


def _json_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{where} has {json.dumps(value)[:40]} where a string is needed.")
    reject_lone_surrogates(value, where)
    return one_line(value)


def _read_table(path: Path, source: str | None, target: str | None) -> Iterator[tuple[str, str]]:
    for number, row in enumerate(read_rows(path, ["source", "target"], "translation"), start=1):
        where = f"{path}, row {number}"
        first, second = sides_of_record(row, source, target, where)
        yield _json_text(first, where), _json_text(second, where)


READERS: dict[str, Reader] = {
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".tmx": read_tmx,
    ".po": read_po,
    ".pot": read_po,
    ".parquet": _read_table,
    ".arrow": _read_table,
}
