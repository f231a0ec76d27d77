"""Pairs of sentences from the files people have: two plain files, .tsv, .jsonl, .tmx or .po, also gzipped.

Every fault in a file is a UserError of one sentence. What comes out holds no line break inside a sentence
and is always encodable as UTF-8, so nothing after this room has to ask again.
"""

import codecs
import gzip
import json
import re
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

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


Reader = Callable[[Path, str | None, str | None], Iterable[tuple[str, str]]]


def read_pairs(
    path: Path, *, source_language: str | None = None, target_language: str | None = None
) -> ParallelText:
    """Read one file that holds both sides; its suffix says how.

    The languages matter where the file names them (.tmx, .jsonl): "en" also finds "en-US", and "en-US" also
    finds "en", but "pt-BR" does not find "pt-PT".
    """
    name = path.name.lower().removesuffix(".gz")
    reader = READERS.get(Path(name).suffix)
    if reader is None:
        with _opened(path):  # a missing file or a folder is the truer complaint
            pass
        known = ", ".join(READERS)
        raise UserError(
            f"{path} has no suffix that says how sentence pairs are stored in it: rename it to one of {known} "
            "(each also with .gz), or give two plain files with one sentence per line."
        )
    pairs = list(reader(path, source_language, target_language))
    if not pairs:
        raise UserError(f"{path} holds no sentence pair: give a file with translations in it.")
    return ParallelText(source=[pair[0] for pair in pairs], target=[pair[1] for pair in pairs])


def read_two(source: Path, target: Path) -> ParallelText:
    """Read two plain files whose lines translate each other."""
    source_lines, target_lines = read_lines(source), read_lines(target)
    if len(source_lines) != len(target_lines):
        raise UserError(
            f"{source} has {len(source_lines)} lines but {target} has {len(target_lines)}: "
            "line N of one must translate line N of the other, so make them equally long."
        )
    return ParallelText(source=source_lines, target=target_lines)


def read_lines(path: Path) -> list[str]:
    """Read a plain file, one sentence per line; empty lines are kept, so that line numbers stay true."""
    return [line for _, line in _numbered_lines(path)]


# Bytes and lines ------------------------------------------------------------------------------------------


@contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    """The file's bytes, unzipped where its name ends in .gz; faults of opening and of reading as UserError."""
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise UserError(f"There is no file {path}: check the name and the folder.") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: give a file inside it.") from None
    except PermissionError:
        raise UserError(f"{path} may not be read: give yourself permission, with chmod u+r.") from None
    except (EOFError, zlib.error):
        raise UserError(f"{path} is cut short or damaged inside its gzip: fetch or zip it again.") from None
    except gzip.BadGzipFile:
        raise UserError(f"{path} is not gzip although its name ends in .gz: rename it or zip it.") from None
    except OSError as error:
        raise UserError(f"{path} could not be read ({error.strerror or error}): check the file.") from None


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1. Reading bytes splits on "\\n" alone: U+2028, \\x0b, \\x1c are text."""
    anything = False
    with _opened(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError:
                raise _not_utf8(path, number, raw) from None
            anything = anything or bool(line.strip())
            yield number, line
    if not anything:
        raise _empty(path)


def _empty(path: Path) -> UserError:
    return UserError(f"{path} is empty: give a file with sentences in it.")


def _not_utf8(path: Path, line: int, raw: bytes) -> UserError:
    """Says how to convert, in a command that can be pasted."""
    utf16 = line == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    convert = f"iconv -f {'utf-16' if utf16 else 'latin1'} -t utf-8"
    zipped = path.suffix.lower() == ".gz"
    plain = path.with_suffix("") if zipped else path
    converted = shlex.quote(str(plain.with_name(f"{plain.stem}.utf8{plain.suffix}")))
    original = shlex.quote(str(path))
    command = f"gunzip -c {original} | {convert}" if zipped else f"{convert} {original}"
    return UserError(
        f"{path} is not UTF-8 (line {line}): convert it, for example by `{command} > {converted}`."
    )


def _one_line(text: str) -> str:
    """Training is by lines: a line break inside a sentence, with the blanks around it, becomes one space."""
    return " ".join(line.strip(" \t") for line in re.split(r"[\r\n]+", text)).strip()


# Language tags --------------------------------------------------------------------------------------------


def _tag(language: str) -> str:
    return language.strip().lower().replace("_", "-")


def _matching(wanted: str, tags: Iterable[str]) -> str | None:
    """The tag equal to `wanted`, or else the first that is its more general or more special form."""
    wanted, tags = _tag(wanted), list(tags)
    if wanted in tags:
        return wanted
    return next(
        (tag for tag in tags if f"{tag}-".startswith(f"{wanted}-") or f"{wanted}-".startswith(f"{tag}-")),
        None,
    )


def _two_languages(source: str, target: str) -> tuple[str, str]:
    if _tag(source) == _tag(target):
        raise UserError(
            f"The source and the target language are both {source}: "
            "give two different ones as --source-language and --target-language."
        )
    return source, target


def _listed(tags: Iterable[str]) -> str:
    return ", ".join(sorted(tags)) or "none"


# .tsv -----------------------------------------------------------------------------------------------------


def _read_tsv(path: Path, _source: str | None, _target: str | None) -> Iterator[tuple[str, str]]:
    for number, line in _numbered_lines(path):
        columns = line.split("\t", 2)
        if len(columns) >= 2:
            yield columns[0], columns[1]
        elif line.strip():  # an empty line, often the last one, is no pair and no fault
            raise UserError(
                f"{path}, line {number} has no tab: each line is a source sentence, a tab, a target sentence."
            )


# .jsonl ---------------------------------------------------------------------------------------------------


def _read_jsonl(path: Path, source: str | None, target: str | None) -> Iterator[tuple[str, str]]:
    for number, line in _numbered_lines(path):
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
    by_tag = {_tag(key): value for key, value in sides.items()}
    if source is None or target is None:
        raise UserError(
            f'{where} has no "source" and "target" but {_listed(by_tag)}: '
            "say which two to read by --source-language and --target-language."
        )
    found = []
    for language in _two_languages(source, target):
        tag = _matching(language, by_tag)
        if tag is None:
            raise UserError(
                f"{where} has no {language} but {_listed(by_tag)}: "
                "choose from these for --source-language and --target-language, or put the line right."
            )
        found.append(by_tag[tag])
    return found[0], found[1]


def _json_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{where} holds {json.dumps(value)[:40]} where a sentence in quotes is needed.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # JSON can spell half of a surrogate pair, which no tokenizer accepts
        raise UserError(
            f"{where} holds half a character (a lone \\uD800–\\uDFFF): repair the line."
        ) from None
    return _one_line(value)


# .tmx -----------------------------------------------------------------------------------------------------

# Their content is the code of another format, not text (TMX 1.4b, "Content Markup"); <hi> is text.
NATIVE_CODE = {"bpt", "ept", "ph", "it", "ut"}
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def _read_tmx(path: Path, source: str | None, target: str | None) -> Iterator[tuple[str, str]]:
    source, target = _tmx_direction(path, source, target)
    seen: dict[str, None] = {}  # a set that keeps its order
    pairs = 0
    for element in _tmx_elements(path):
        if _name(element) != "tu":
            continue
        segments = _segments(element)
        seen.update(dict.fromkeys(segments))
        source_tag, target_tag = _matching(source, segments), _matching(target, segments)
        if source_tag and target_tag and source_tag != target_tag:
            pairs += 1
            yield segments[source_tag], segments[target_tag]
    missing = [language for language in (source, target) if _matching(language, seen) is None]
    if missing:
        raise _not_in_tmx(path, missing, seen)
    if not pairs:
        raise UserError(
            f"{path} has no unit with both {source} and {target}: choose another pair of {_listed(seen)}."
        )


def _not_in_tmx(path: Path, missing: Iterable[str], present: Iterable[str]) -> UserError:
    return UserError(
        f"{path} has no {' and no '.join(missing)}; its languages are: {_listed(present)}: "
        "choose from these for --source-language and --target-language."
    )


def _tmx_direction(path: Path, source: str | None, target: str | None) -> tuple[str, str]:
    """The two languages as given, or, where the file has just two, filled in from the file."""
    if source is not None and target is not None:
        return _two_languages(source, target)
    header_language, tags = _tmx_languages(path)
    primary = list(dict.fromkeys(tag.split("-")[0] for tag in tags))
    two = next((tags_or_primary for tags_or_primary in (tags, primary) if len(tags_or_primary) == 2), None)
    if two is None:
        raise UserError(
            f"{path} does not have exactly two languages but: {_listed(tags)}: "
            "say which two to read by --source-language and --target-language."
        )
    for given in (source, target):
        if given is not None and _matching(given, two) is None:
            raise _not_in_tmx(path, [given], two)
    if target is not None:
        chosen_target = _matching(target, two)
        return next(tag for tag in two if tag != chosen_target), target
    chosen_source = _matching(source or header_language or "", two) or two[0]
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
    with _opened(path) as stream:
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
        raise _empty(path)


def _malformed_xml(path: Path, error: ElementTree.ParseError) -> UserError:
    """Says whether it is the XML or the encoding: expat calls both "invalid token"."""
    line = error.position[0]
    with _opened(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                break
            if number == line:
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError:
                    return _not_utf8(path, number, raw)
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
                    segments.setdefault(_tag(language), _segment_text(child))
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
    return _one_line("".join(parts))


# .po ------------------------------------------------------------------------------------------------------

PO_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*(\".*)")
PO_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
PO_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    '"': '"',
    "\\": "\\",
}


@dataclass(kw_only=True)
class _Entry:
    """One message of a catalog: its strings by keyword."""

    strings: dict[str, str] = field(default_factory=dict)
    fuzzy: bool = False

    def translated(self) -> bool:
        """Whether a msgstr has been read: what follows it begins another entry."""
        return any(keyword.startswith("msgstr") for keyword in self.strings)


def _read_po(path: Path, _source: str | None, _target: str | None) -> Iterator[tuple[str, str]]:
    plurals: int | None = None
    pairs = 0
    for entry in _po_entries(path):
        if entry.strings["msgid"] == "" and "msgctxt" not in entry.strings:
            declared = re.search(r"nplurals\s*=\s*(\d+)", entry.strings.get("msgstr", ""))
            plurals = int(declared[1][:3]) if declared else None
            continue
        for pair in _pairs_of_entry(entry, plurals):
            pairs += 1
            yield pair
    if not pairs:
        raise UserError(
            f"{path} has no finished translation in it (a .pot is only a template, and fuzzy entries do not "
            "count): give the .po file of a language."
        )


def _pairs_of_entry(entry: _Entry, plurals: int | None) -> Iterator[tuple[str, str]]:
    if entry.fuzzy:
        return
    strings = entry.strings
    sides = [("msgid", "msgstr"), ("msgid", "msgstr[0]")]
    if plurals is None or plurals >= 2:
        sides.append(("msgid_plural", "msgstr[1]"))
    for source_key, target_key in sides:
        source, target = _one_line(strings.get(source_key, "")), _one_line(strings.get(target_key, ""))
        if source and target:
            yield source, target


def _po_entries(path: Path) -> Iterator[_Entry]:
    entry = _Entry()
    keyword = ""  # the one that a following line of only a string continues
    number = 0
    for number, line in _numbered_lines(path):
        line = line.strip()
        if not line:
            continue
        if line.startswith("#"):
            if entry.translated():
                yield entry
                entry, keyword = _Entry(), ""
            entry.fuzzy = _fuzzy_after(line, entry.fuzzy)
            continue
        begun = PO_KEYWORD.fullmatch(line)
        if begun:
            if begun[1] in ("msgctxt", "msgid") and entry.translated():
                yield entry
                entry = _Entry()
            keyword = begun[1]
            _check_place(path, number, keyword, entry)
            entry.strings[keyword] = _po_string(path, number, begun[2])
        elif line.startswith('"') and keyword:
            entry.strings[keyword] += _po_string(path, number, line)
        else:
            raise _malformed_po(path, number, "neither a comment nor msgid, msgstr or a string in quotes")
    if entry.translated():
        yield entry
    elif entry.strings:
        raise _malformed_po(path, number, "the file ends inside an entry")


def _fuzzy_after(comment: str, fuzzy: bool) -> bool:
    if comment.startswith("#~"):  # a flag above an obsolete entry is the obsolete entry's
        return False
    return fuzzy or (comment.startswith("#,") and "fuzzy" in re.split(r"[,\s]+", comment))


def _check_place(path: Path, number: int, keyword: str, entry: _Entry) -> None:
    if keyword in entry.strings:
        raise _malformed_po(path, number, f"a second {keyword} in one entry")
    if keyword not in ("msgctxt", "msgid") and "msgid" not in entry.strings:
        raise _malformed_po(path, number, f"{keyword} without a msgid before it")
    if keyword == "msgctxt" and entry.strings:
        raise _malformed_po(path, number, "msgctxt after the msgid")


def _po_string(path: Path, number: int, quoted: str) -> str:
    string = PO_STRING.fullmatch(quoted)
    if string is None:
        raise _malformed_po(path, number, "a string that is not closed, or a quote inside it without \\")

    def unescape(match: re.Match[str]) -> str:
        if match[1] not in PO_ESCAPES:
            raise _malformed_po(path, number, f"the unknown escape \\{match[1]}")
        return PO_ESCAPES[match[1]]

    return re.sub(r"\\(.)", unescape, string[1])


def _malformed_po(path: Path, number: int, reason: str) -> UserError:
    return UserError(f"{path}, line {number} is not valid gettext ({reason}): repair it, msgfmt -c helps.")


READERS: dict[str, Reader] = {
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".tmx": _read_tmx,
    ".po": _read_po,
    ".pot": _read_po,
}
