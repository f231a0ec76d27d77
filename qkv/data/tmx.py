"""TMX 1.4, the exchange format of translation memories, read in bounded memory."""

import codecs
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from qkv.data.language_tags import language_tag, listed, matching_tag, two_languages
from qkv.data.lines import empty_file, not_utf8, one_line, opened
from qkv.errors import UserError

# Their content is the code of another format, not text (TMX 1.4b, "Content Markup"); <hi> is text.
NATIVE_CODE = {"bpt", "ept", "ph", "it", "ut"}
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(path: Path, source: str | None, target: str | None) -> Iterator[tuple[str, str]]:
    source, target = tmx_direction(path, source, target)
    seen: dict[str, None] = {}  # a set that keeps its order
    pairs = 0
    for element in _tmx_elements(path):
        if _name(element) != "tu":
            continue
        segments = _segments(element)
        seen.update(dict.fromkeys(segments))
        source_tag, target_tag = matching_tag(source, segments), matching_tag(target, segments)
        if source_tag and target_tag and source_tag != target_tag:
            pairs += 1
            yield segments[source_tag], segments[target_tag]
    missing = [language for language in (source, target) if matching_tag(language, seen) is None]
    if missing:
        raise _not_in_tmx(path, missing, seen)
    if not pairs:
        raise UserError(
            f"{path} has no unit with both {source} and {target}: choose another pair of {listed(seen)}."
        )


def _not_in_tmx(path: Path, missing: Iterable[str], present: Iterable[str]) -> UserError:
    return UserError(
        f"{path} has no {' and no '.join(missing)}; its languages are: {listed(present)}: "
        "choose the source and target languages from these."
    )


def tmx_direction(path: Path, source: str | None, target: str | None) -> tuple[str, str]:
    """The two languages as given, or, where the file has just two, filled in from the file."""
    if source is not None and target is not None:
        return two_languages(source, target)
    header_language, tags = _tmx_languages(path)
    primary = list(dict.fromkeys(tag.split("-")[0] for tag in tags))
    two = next((tags_or_primary for tags_or_primary in (tags, primary) if len(tags_or_primary) == 2), None)
    if two is None:
        raise UserError(
            f"{path} does not have exactly two languages but: {listed(tags)}: "
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
    """The header's srclang and every language of the body in order of appearance."""
    header_language: str | None = None
    tags: dict[str, None] = {}
    for element in _tmx_elements(path):
        if _name(element) == "header":
            header_language = element.get("srclang")
        else:
            tags.update(dict.fromkeys(_segments(element)))
    return header_language, list(tags)


def _tmx_elements(path: Path) -> Iterator[ElementTree.Element]:
    """The <header> and each <tu>, one at a time; what was read is let go, so memory stays small."""
    with opened(path) as stream:
        _refuse_entities(path, stream)
        stream.seek(0)
        ancestors: list[ElementTree.Element] = []
        try:
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if event == "start":
                    if not ancestors and _name(element) != "tmx":
                        raise UserError(
                            f"{path} is XML but not TMX (it begins with <{_name(element)}>): give a TMX file."
                        )
                    ancestors.append(element)
                    continue
                ancestors.pop()
                if _name(element) in ("header", "tu"):
                    yield element
                    ancestors[-1].clear()
        except ElementTree.ParseError as error:
            raise _malformed_xml(path, error) from None
        except (LookupError, ValueError) as error:  # an encoding that expat does not know
            raise UserError(
                f"{path} is in an encoding not read here ({error}): convert it to UTF-8."
            ) from None


def _refuse_entities(path: Path, stream: BufferedIOBase) -> None:
    """Entities can blow a few lines up to gigabytes, and TMX needs none.

    They can only be declared before the root element, so only that part is parsed here; as a parser sees it,
    for a search for the characters would be blind in UTF-16.
    """
    root_begun = False

    def refuse(*_: object) -> None:
        raise UserError(
            f"{path} declares XML entities (<!ENTITY …>), which are not safe to read: remove them."
        )

    def begin(*_: object) -> None:
        nonlocal root_begun
        root_begun = True

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = begin
    anything = False
    while not root_begun and (chunk := stream.read(1 << 16)):
        anything = anything or bool(chunk.removeprefix(codecs.BOM_UTF8).strip())
        try:
            parser.Parse(chunk, False)
        except (expat.ExpatError, LookupError, ValueError):
            break  # reading the whole meets the same fault at the same place, and reports it
    if not anything:
        raise empty_file(path)


def _malformed_xml(path: Path, error: ElementTree.ParseError) -> UserError:
    """Says whether it is the XML or the encoding: expat calls both "invalid token"."""
    line = error.position[0]
    with opened(path) as stream:
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
    return UserError(f"{path}, line {line} is not valid XML ({reason}): repair it or export the TMX again.")


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _segments(unit: ElementTree.Element) -> dict[str, str]:
    """Language tag → text of a <tu>; of several variants in one language, the first."""
    segments: dict[str, str] = {}
    for variant in unit:
        language = variant.get(XML_LANG) or variant.get("lang")
        if _name(variant) == "tuv" and language:
            for child in variant:
                if _name(child) == "seg":
                    segments.setdefault(language_tag(language), _segment_text(child))
    return segments


def _segment_text(segment: ElementTree.Element) -> str:
    """All text outside native code. A stack and not recursion: the nesting is the file's to choose."""
    parts: list[str] = []
    pending: list[ElementTree.Element | str] = [segment]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
        elif _name(item) not in NATIVE_CODE:
            parts.append(item.text or "")
            for child in reversed(item):
                pending += [child.tail or "", child]
    return one_line("".join(parts))
