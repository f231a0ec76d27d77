"""Translations from files, as entries of a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from qkv.corpus.records import languages_in_name
from qkv.data.language_tags import language_of
from qkv.data.lines import numbered_lines, open_file
from qkv.data.parallel import READERS, iterate_pairs
from qkv.data.po import po_language, read_po_translations
from qkv.data.tmx import read_tmx_units, tmx_direction
from qkv.errors import DataError
from qkv.localization.entry import Entry

Languages = tuple[str | None, str | None]
MARKS = {".tmx": (b"<tu ", b"<tu>"), ".po": (b"\nmsgid ",)}  # one per entry; otherwise each line is one


@dataclass(frozen=True, kw_only=True)
class FoundEntries:
    name: str
    """Of the file, for messages."""
    languages: Languages
    entries: Iterator[Entry]


def read_files(files: Sequence[Path], wanted: Languages, origin: str | None) -> FoundEntries:
    """The entries of one file, or of two text files. `wanted` are the languages of the memory."""
    if len(files) == 2 and not any(map(has_pairs, files)):
        return read_two_texts(files[0], files[1], origin)
    if len(files) != 1:
        raise DataError("give one file with both sides, or two text files that match line by line.")
    [path] = files
    name = origin if origin is not None else path.name
    suffix = suffix_of(path)
    languages: Languages
    if suffix == ".tmx":
        languages = tmx_direction(path, *wanted)
        entries = tmx_entries(path, languages, origin)
    elif suffix in (".po", ".pot"):
        languages = (None, po_language(path))
        entries = po_entries(path, name)
    else:
        languages = languages_in_name(path)
        entries = pair_entries(path, wanted, name)
    return FoundEntries(name=str(path), languages=languages, entries=filter(is_complete, entries))


def groups_of(files: Sequence[Path]) -> list[list[Path]]:
    """Files that are read together: each alone, or two text files as source and target."""
    texts = [path for path in files if not has_pairs(path)]
    if len(texts) == 2 and len(files) == 2:
        return [list(files)]
    return [[path] for path in files]


def has_pairs(path: Path) -> bool:
    return suffix_of(path) in READERS


def suffix_of(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def is_complete(entry: Entry) -> bool:
    return bool(entry.source.strip() and entry.target.strip())


def tmx_entries(path: Path, languages: Languages, origin: str | None) -> Iterator[Entry]:
    for unit in read_tmx_units(path, *languages):
        yield Entry(
            source=unit.source,
            target=unit.target,
            context=unit.context,
            origin=origin if origin is not None else unit.origin or path.name,
            date=unit.date,
        )


def po_entries(path: Path, origin: str) -> Iterator[Entry]:
    for each in read_po_translations(path):
        yield Entry(source=each.source, target=each.target, context=each.context, origin=origin)


def pair_entries(path: Path, languages: Languages, origin: str) -> Iterator[Entry]:
    for source, target in iterate_pairs(path, *languages):
        yield Entry(source=source, target=target, origin=origin)


def read_two_texts(source: Path, target: Path, origin: str | None) -> FoundEntries:
    name = source.name if origin is None else origin
    return FoundEntries(
        name=str(target),
        languages=(language_of(source), language_of(target)),
        entries=filter(is_complete, line_entries(source, target, name)),
    )


def line_entries(source: Path, target: Path, origin: str) -> Iterator[Entry]:
    first, second = numbered_lines(source), numbered_lines(target)
    for _, line in first:
        other = next(second, None)
        if other is None:
            raise unequal(source, target)
        yield Entry(source=line, target=other[1], origin=origin)
    if next(second, None) is not None:
        raise unequal(target, source)


def unequal(longer: Path, shorter: Path) -> DataError:
    return DataError(f"{longer} has more lines than {shorter}; the files must match line by line.")


def count_entries(path: Path) -> int:
    """About how many entries a file has, for a progress bar: without parsing it."""
    marks = MARKS.get(suffix_of(path), (b"\n",))
    count = 0
    with open_file(path) as stream:
        while chunk := stream.read(1 << 20):
            count += sum(map(chunk.count, marks))
    return count


def with_progress(entries: Iterator[Entry], advance: Callable[[int], object]) -> Iterator[Entry]:
    for entry in entries:
        yield entry
        advance(1)
