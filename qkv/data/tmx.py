"""TMX 1.4, the exchange format of translation memories, read in bounded memory."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BufferedIOBase
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from qkv.data.language_tags import check_different, join_tags, language_tag, matching_tag
from qkv.data.lines import empty_file, not_utf8, one_line, open_file
from qkv.errors import DataError

# Elements with code of another format instead of text (TMX 1.4b, "Content Markup"). <hi> contains text.
NATIVE_CODE = {"bpt", "ept", "ph", "it", "ut"}
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# XML 1.0 has no way to write these. In a segment qkv writes <ph type="x-char-1F"/>, which other tools read as a placeholder.
NOT_XML = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ufffe\\uffff]")
CHARACTER = "x-char-"
AS_JSON = "-json"  # after the type of a property whose text has such characters


@dataclass(frozen=True, kw_only=True)
class TmxUnit:
    """A pair as it is written, with line breaks, and what the unit says about it."""

    source: str
    target: str
    context: str
    origin: str
    date: datetime | None
    number: int
    """Of the <tu> in its file, from 0."""


def read_tmx(path: Path, source: str | None, target: str | None) -> Iterator[tuple[str, str]]:
    for _, _, first, second in _pairs_of_units(path, source, target):
        yield one_line(first), one_line(second)


def read_tmx_units(path: Path, source: str | None, target: str | None) -> Iterator[TmxUnit]:
    for number, unit, first, second in _pairs_of_units(path, source, target):
        yield TmxUnit(
            source=first,
            target=second,
            context=_property(unit, "x-context"),
            origin=_property(unit, "x-origin"),
            date=_date(unit),
            number=number,
        )


def _property(unit: ElementTree.Element, kind: str) -> str:
    for child in unit:
        if _name(child) == "prop" and child.get("type") == kind:
            return child.text or ""
        if _name(child) == "prop" and child.get("type") == kind + AS_JSON:
            try:
                value = json.loads(child.text or "")
            except (ValueError, RecursionError):
                continue
            if isinstance(value, str):
                return value
    return ""


def _date(unit: ElementTree.Element) -> datetime | None:
    """When the unit was last changed, or else created. Tools write this on the unit or on its variants."""
    for name in ("changedate", "creationdate"):
        dates = [date for each in (unit, *unit) if (date := _parse_date(each.get(name)))]
        if dates:
            return max(dates)
    return None


def _parse_date(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(f"{text}+0000", "%Y%m%dT%H%M%SZ%z")
    except ValueError:
        return None


def _pairs_of_units(
    path: Path, source: str | None, target: str | None
) -> Iterator[tuple[int, ElementTree.Element, str, str]]:
    source, target = tmx_direction(path, source, target)
    seen: dict[str, None] = {}  # a set that keeps its order
    pairs, number = 0, -1
    for element in _tmx_elements(path):
        if _name(element) != "tu":
            continue
        number += 1
        segments = _segments(element)
        seen.update(dict.fromkeys(segments))
        source_tag, target_tag = matching_tag(source, segments), matching_tag(target, segments)
        if source_tag and target_tag and source_tag != target_tag:
            pairs += 1
            yield number, element, segments[source_tag], segments[target_tag]
    missing = [language for language in (source, target) if matching_tag(language, seen) is None]
    if missing:
        raise _not_in_tmx(path, missing, seen)
    if not pairs:
        raise DataError(
            f"{path} has no unit with both {source} and {target}: choose another pair of {join_tags(seen)}."
        )


def _not_in_tmx(path: Path, missing: Iterable[str], present: Iterable[str]) -> DataError:
    return DataError(
        f"{path} has no {' and no '.join(missing)}. Choose the source and target languages from "
        f"{join_tags(present)}."
    )


def tmx_direction(path: Path, source: str | None, target: str | None) -> tuple[str, str]:
    """The two languages as given, completed from the file if it has exactly two."""
    if source is not None and target is not None:
        return check_different(source, target)
    header_language, tags = _tmx_languages(path)
    primary = list(dict.fromkeys(tag.split("-")[0] for tag in tags))
    two = next((tags_or_primary for tags_or_primary in (tags, primary) if len(tags_or_primary) == 2), None)
    if two is None:
        raise DataError(
            f"{path} does not have exactly two languages but {join_tags(tags)}: "
            "give the source and target languages."
        )
    for given in (source, target):
        if given is not None and matching_tag(given, two) is None:
            raise _not_in_tmx(path, [given], two)
    if target is not None:
        chosen_target = matching_tag(target, two)
        return next(tag for tag in two if tag != chosen_target), target
    chosen_source = matching_tag(source or header_language or "", two) or two[0]
    return source or chosen_source, next(tag for tag in two if tag != chosen_source)


def _tmx_languages(path: Path) -> tuple[str | None, list[str]]:
    """The srclang of the header, and all languages of the body in order of appearance."""
    header_language: str | None = None
    tags: dict[str, None] = {}
    for element in _tmx_elements(path):
        if _name(element) == "header":
            header_language = element.get("srclang")
        else:
            tags.update(dict.fromkeys(_segments(element)))
    return header_language, list(tags)


def _tmx_elements(path: Path) -> Iterator[ElementTree.Element]:
    """The <header> and each <tu>, one at a time. Elements are freed after use, so memory is bounded."""
    with open_file(path) as stream:
        _reject_entities(path, stream)
        stream.seek(0)
        ancestors: list[ElementTree.Element] = []
        try:
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if event == "start":
                    if not ancestors and _name(element) != "tmx":
                        raise DataError(
                            f"{path} is XML but not TMX (it starts with <{_name(element)}>): give a TMX file."
                        )
                    ancestors.append(element)
                    continue
                ancestors.pop()
                if _name(element) in ("header", "tu"):
                    yield element
                    ancestors[-1].clear()
        except ElementTree.ParseError as error:
            raise _invalid_xml(path, error) from None
        except (LookupError, ValueError) as error:  # an encoding that expat does not know
            raise DataError(f"{path} has an unsupported encoding ({error}): convert it to UTF-8.") from None


def _reject_entities(path: Path, stream: BufferedIOBase) -> None:
    """Raise an error if entities are declared, because they can expand to gigabytes, and TMX needs none.

    They can be declared only before the root element, so only that part is parsed. A text search would miss UTF-16.
    """
    root_started = False

    def reject(*_: object) -> None:
        raise DataError(f"{path} declares XML entities (<!ENTITY …>), which are unsafe: remove them.")

    def start(*_: object) -> None:
        nonlocal root_started
        root_started = True

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = reject
    parser.StartElementHandler = start
    anything = False
    while not root_started and (chunk := stream.read(1 << 16)):
        anything = anything or bool(chunk.removeprefix(codecs.BOM_UTF8).strip())
        try:
            parser.Parse(chunk, False)
        except (expat.ExpatError, LookupError, ValueError):
            break  # reported later, when the whole file is read
    if not anything:
        raise empty_file(path)


def _invalid_xml(path: Path, error: ElementTree.ParseError) -> DataError:
    """An error that distinguishes invalid XML from a wrong encoding, because expat calls both "invalid token"."""
    line = error.position[0]
    with open_file(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                break
            if number == line:
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError:
                    return not_utf8(path, number, raw)
                break
    reason = str(error).split(":")[0]
    return DataError(f"{path}, line {line} is not valid XML ({reason}): correct it, or export the TMX again.")


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _segments(unit: ElementTree.Element) -> dict[str, str]:
    """The text of a <tu> by language tag. If there are several variants in a language, the first one counts."""
    segments: dict[str, str] = {}
    for variant in unit:
        language = variant.get(XML_LANG) or variant.get("lang")
        if _name(variant) == "tuv" and language:
            for child in variant:
                if _name(child) == "seg":
                    segments.setdefault(language_tag(language), _segment_text(child))
    return segments


def _segment_text(segment: ElementTree.Element) -> str:
    """All text outside native code. Uses a stack instead of recursion, because nesting may be deep."""
    parts: list[str] = []
    pending: list[ElementTree.Element | str] = [segment]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
        elif _name(item) in NATIVE_CODE:
            parts.append(_character(item.get("type", "")))
        else:
            parts.append(item.text or "")
            for child in reversed(item):
                pending += [child.tail or "", child]
    return "".join(parts)


def _character(kind: str) -> str:
    """The character that a placeholder stands for, if it was written for one that XML cannot have."""
    found = re.fullmatch(f"{CHARACTER}([0-9A-F]{{2,4}})", kind)
    character = chr(int(found[1], 16)) if found else ""
    return character if NOT_XML.fullmatch(character) else ""
