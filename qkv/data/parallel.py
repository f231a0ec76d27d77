"""Pairs of sentences from the files people have: two plain files, .tsv, .jsonl, .tmx or .po, also gzipped.

Every fault in a file is a UserError of one sentence. What comes out holds no line feed inside a sentence
and is always encodable as UTF-8, so nothing after this room has to ask again.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from qkv.data.language_tags import language_tag, listed, matching_tag, two_languages
from qkv.data.lines import numbered_lines, one_line, opened, refuse_halves
from qkv.data.po import read_po
from qkv.data.tmx import read_tmx, tmx_direction
from qkv.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ParallelText:
    """Sentences and their translations: `target[i]` translates `source[i]`."""

    source: list[str]
    target: list[str]

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


Reader = Callable[[Path, str | None, str | None], Iterable[tuple[str, str]]]


def read_pairs(
    path: Path, *, source_language: str | None = None, target_language: str | None = None
) -> ParallelText:
    """Read one file that holds both sides; its suffix says how.

    The languages matter where the file names them (.tmx, .jsonl): "en" also finds "en-US", and "en-US" also
    finds "en", but "pt-BR" does not find "pt-PT".
    """
    pairs = list(iterate_pairs(path, source_language, target_language))
    return ParallelText(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs])


def iterate_pairs(
    path: Path, source_language: str | None, target_language: str | None
) -> Iterator[tuple[str, str]]:
    """The pairs of such a file one by one."""
    name = path.name.lower().removesuffix(".gz")
    reader = READERS.get(Path(name).suffix)
    if reader is None:
        with opened(path):  # a missing file or a folder is the truer complaint
            pass
        known = ", ".join(READERS)
        raise UserError(
            f"{path} has no suffix that says how sentence pairs are stored in it: rename it to one of {known} "
            "(each also with .gz), or give two plain files with one sentence per line."
        )
    empty = True
    for pair in reader(path, source_language, target_language):
        empty = False
        yield pair
    if empty:
        raise UserError(f"{path} holds no sentence pair: give a file with translations in it.")


def languages_in(path: Path, source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The two languages as given, or as the file itself names them."""
    if path.name.lower().removesuffix(".gz").endswith(".tmx"):
        return tmx_direction(path, source, target)
    return source, target


def read_two(source: Path, target: Path) -> ParallelText:
    """Read two plain files whose lines translate each other."""
    source_lines, target_lines = read_lines(source), read_lines(target)
    if len(source_lines) != len(target_lines):
        raise UserError(
            f"{source} has {len(source_lines):,} lines but {target} has {len(target_lines):,}; "
            "the files must match line by line."
        )
    return ParallelText(source=source_lines, target=target_lines)


def read_lines(path: Path) -> list[str]:
    """Read a plain file, one sentence per line; empty lines are kept, so that line numbers stay true."""
    return [line for _, line in numbered_lines(path)]


def _read_tsv(path: Path, _source: str | None, _target: str | None) -> Iterator[tuple[str, str]]:
    for number, line in numbered_lines(path):
        columns = line.split("\t", 2)
        if len(columns) >= 2:
            yield columns[0], columns[1]
        elif line.strip():  # an empty line, often the last one, is no pair and no fault
            raise UserError(
                f"{path}, line {number} has no tab: each line is a source sentence, a tab, a target sentence."
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
            raise UserError(f"{where} is not valid JSON ({reason}): write one object per line.") from None
        if not isinstance(record, dict):
            raise UserError(
                f'{where} is not a JSON object: write {{"source": "…", "target": "…"}} on each line.'
            )
        first, second = _sides_of_record(record, source, target, where)
        yield _json_text(first, where), _json_text(second, where)


def _sides_of_record(
    record: dict[str, object], source: str | None, target: str | None, where: str
) -> tuple[object, object]:
    if "source" in record and "target" in record:
        return record["source"], record["target"]
    translation = record.get("translation")
    sides = translation if isinstance(translation, dict) else record
    by_tag = {language_tag(key): value for key, value in sides.items()}
    if source is None or target is None:
        raise UserError(
            f'{where} has no "source" and "target" but {listed(by_tag)}: '
            "give the source and target languages."
        )
    found = []
    for language in two_languages(source, target):
        tag = matching_tag(language, by_tag)
        if tag is None:
            raise UserError(
                f"{where} has no {language} but {listed(by_tag)}: "
                "choose the source and target languages from these, or correct the line."
            )
        found.append(by_tag[tag])
    return found[0], found[1]


def _json_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{where} holds {json.dumps(value)[:40]} where a sentence in quotes is needed.")
    refuse_halves(value, where)
    return one_line(value)


READERS: dict[str, Reader] = {
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".tmx": read_tmx,
    ".po": read_po,
    ".pot": read_po,
}
