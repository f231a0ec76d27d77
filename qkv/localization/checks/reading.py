"""Files with translations, as units to check."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from xml.parsers import expat

from qkv.data.language_tags import language_of
from qkv.data.lines import open_file
from qkv.data.tmx import read_tmx_units, tmx_direction
from qkv.documents import CATALOGS, FORMATS, Document, Segment, extension_of, read_catalog, read_document
from qkv.documents.document import Edit, spliced
from qkv.errors import DataError
from qkv.flags import OptionMessageError
from qkv.localization.checks.plural_forms import plural_forms_in
from qkv.localization.checks.unit import Unit

MOST_BYTES = 100_000_000  # a file is read as a whole
ZIP = b"PK\x03\x04"
FEW = ("zero", "one", "two")  # plural categories of a few numbers in most languages
Languages = tuple[str | None, str | None]


@dataclass(frozen=True, kw_only=True)
class Bilingual:
    """A file with translations."""

    path: Path
    content: bytes
    """What the places of units refer to, as in a document."""
    splice: Callable[[bytes, Iterable[Edit]], bytes]
    units: tuple[Unit, ...]


def read_bilingual(path: Path, source: Path | None, languages: Languages) -> Bilingual:
    """Read a file with both sides, or a file with translations of the texts in `source`."""
    content = read_bytes(path)
    extension = extension_of(path.name)
    document: Document | None = None
    if source is not None:
        originals, document = read_any(source, read_bytes(source)), read_any(path, content)
        found = paired_units(originals, document)
        languages = (languages[0] or language_of(source), languages[1] or language_of(path))
    elif extension == "tmx":
        found = tmx_units(path, languages)
        languages = tmx_direction(path, *languages)
    elif extension == "tsv":
        found = tsv_units(path, content)
    else:
        document = read_any(path, content)
        if document.segments and all(segment.target is None for segment in document.segments):
            raise OptionMessageError(
                "{path} holds one language: give the file with its source texts as {source}.", path=path
            )
        found = units_of(document, extension)
        stated = (document.source_language, document.target_language)
        languages = (languages[0] or stated[0], languages[1] or stated[1])
    units = tuple(replace(unit, languages=languages) for unit in found)
    return Bilingual(
        path=path,
        content=document.content if document else content,
        splice=document.splice if document else spliced,
        units=units if content.startswith(ZIP) else with_lines(content, units),
    )


def read_bytes(path: Path) -> bytes:
    with open_file(path) as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES:,} bytes: divide it.")
    return content


def read_any(path: Path, content: bytes) -> Document:
    extension = extension_of(path.name)
    if extension not in CATALOGS and extension not in FORMATS:
        known = ", ".join(f".{each}" for each in dict.fromkeys((*CATALOGS, *FORMATS, "tmx")))
        raise DataError(f"{path} has an unknown suffix. Supported are {known}.")
    try:
        if extension in CATALOGS:
            return read_catalog(extension, content)
        return read_document(path.name, content)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


# One file with both sides -------------------------------------------------------------------------


def units_of(document: Document, extension: str) -> Iterator[Unit]:
    """The forms of one message stand together, and the last of them has the source text for several things."""
    forms = plural_forms_in(document.content) if extension in ("po", "pot") else None
    groups = groupby(
        document.segments, key=lambda each: (each.key, each.context, each.plural == "", each.held)
    )
    for (key, context, is_single, _), members in groups:
        segments = list(members)
        for place, segment in enumerate(segments):
            problem = forms.problems.get((context, key), "") if forms and place == 0 else ""
            yield replace(
                unit_of(segment, segment.text, segment.target or ""),
                plural_source="" if is_single else segments[-1].text,
                is_rare=forms is not None and segment.plural in forms.rare,
                problem=problem,
            )


def unit_of(segment: Segment, source: str, target: str) -> Unit:
    return Unit(
        source=source,
        target=target,
        key=segment.key,
        context=segment.context,
        state="translated" if segment.target is None else segment.state,
        dialect=segment.dialect,
        plural=segment.plural,
        segment=segment,
    )


def with_lines(content: bytes, units: Sequence[Unit]) -> tuple[Unit, ...]:
    """The line of each translation that is in the file, in one pass."""
    lines: dict[int, int] = {}
    line, last = 1, 0
    for start in sorted({unit.segment.start for unit in units if unit.segment}):
        line += content.count(b"\n", last, start)
        lines[start], last = line, start
    return tuple(replace(unit, line=lines[unit.segment.start]) if unit.segment else unit for unit in units)


# Two files with one language each -----------------------------------------------------------------


def paired_units(originals: Document, document: Document) -> Iterator[Unit]:
    """The texts with the same key, or those in the same place if there are no keys."""
    has_keys = any(segment.key for segment in originals.segments)
    texts = dict(named(originals.segments, has_keys))
    used = set()
    for name, segment in named(document.segments, has_keys):
        original = texts.get(name) or texts.get(other_form(name, segment))
        used.add(name)
        if original is None:
            yield replace(unit_of(segment, "", segment.text), is_extra=True)
            continue
        yield replace(
            unit_of(segment, original.text, segment.text),
            dialect=original.dialect,
            is_rare=segment.plural in FEW,
        )
    for name, segment in texts.items():
        if name not in used and not segment.plural:
            yield replace(unit_of(segment, segment.text, ""), state="untranslated", segment=None)


def named(segments: Iterable[Segment], has_keys: bool) -> Iterator[tuple[str, Segment]]:
    return ((each.key if has_keys else str(place), each) for place, each in enumerate(segments))


def other_form(name: str, segment: Segment) -> str:
    """The key of the form for many things: a language may have forms that the source has not."""
    return f"{name.removesuffix(segment.plural)}other" if segment.plural else name


# Lists of pairs -----------------------------------------------------------------------------------


def tsv_units(path: Path, content: bytes) -> Iterator[Unit]:
    place = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    for number, line in enumerate(content[place:].split(b"\n"), 1):
        columns = line.removesuffix(b"\r").split(b"\t")
        if len(columns) > 1:
            try:
                source, target = (column.decode("utf-8") for column in columns[:2])
            except UnicodeDecodeError:
                raise DataError(f"{path} is not UTF-8 (line {number}): convert it.") from None
            start = place + len(columns[0]) + 1
            segment = Segment(
                text=source,
                start=start,
                end=start + len(columns[1]),
                encode=lambda text: text.encode(),
                target=target,
                state="translated" if target else "untranslated",
            )
            yield unit_of(segment, source, target)
        elif line.strip():
            raise DataError(f"{path}, line {number}: expected a source text, a tab and its translation.")
        place += len(line) + 1


def tmx_units(path: Path, languages: Languages) -> Iterator[Unit]:
    lines = unit_lines(path)
    for unit in read_tmx_units(path, *languages):
        yield Unit(source=unit.source, target=unit.target, context=unit.context, line=lines[unit.number])


def unit_lines(path: Path) -> list[int]:
    """The line of each <tu>, up to what is not XML, if anything."""
    parser, found = expat.ParserCreate(), list[int]()

    def start(name: str, _attributes: dict[str, str]) -> None:
        if name.rpartition(":")[2] == "tu":
            found.append(parser.CurrentLineNumber)

    parser.StartElementHandler = start
    reported_later = (expat.ExpatError, LookupError, ValueError)  # an encoding that expat does not know, too
    with suppress(*reported_later), open_file(path) as stream:
        for chunk in iter(lambda: stream.read(1 << 16), b""):
            parser.Parse(chunk, False)
    return found
