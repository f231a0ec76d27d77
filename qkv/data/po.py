"""Gettext catalogs: msgid and msgstr of every entry that is translated and not fuzzy."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from qkv.data.lines import numbered_lines, one_line
from qkv.errors import DataError

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
        """Whether a msgstr has been read, after which a new entry starts."""
        return any(keyword.startswith("msgstr") for keyword in self.strings)


@dataclass(frozen=True, kw_only=True)
class PoTranslation:
    """A translated string as it is in the catalog, with its line breaks."""

    context: str
    source: str
    target: str


def read_po(path: Path, _source: str | None, _target: str | None) -> Iterator[tuple[str, str]]:
    for each in read_po_translations(path):
        yield one_line(each.source), one_line(each.target)


def po_language(path: Path) -> str | None:
    """The language that the header names."""
    first = next(_po_entries(path), _Entry())
    if first.strings.get("msgid") == "" and "msgctxt" not in first.strings:
        named = re.search(r"^Language:[ \t]*([\w@.-]+)", first.strings.get("msgstr", ""), re.MULTILINE)
        return named[1].split("@")[0].split(".")[0] if named else None
    return None


def read_po_translations(path: Path) -> Iterator[PoTranslation]:
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
        raise DataError(
            f"{path} has no translations: fuzzy entries do not count, and a .pot file is a template. Give the .po file of a "
            "language."
        )


def _pairs_of_entry(entry: _Entry, plurals: int | None) -> Iterator[PoTranslation]:
    if entry.fuzzy:
        return
    strings = entry.strings
    sides = [("msgid", "msgstr"), ("msgid", "msgstr[0]")]
    if plurals is None or plurals >= 2:
        sides.append(("msgid_plural", "msgstr[1]"))
    for source_key, target_key in sides:
        source, target = strings.get(source_key, ""), strings.get(target_key, "")
        if one_line(source) and one_line(target):
            yield PoTranslation(context=strings.get("msgctxt", ""), source=source, target=target)


def _po_entries(path: Path) -> Iterator[_Entry]:
    entry = _Entry()
    keyword = ""  # the one that a line with only a string continues
    number = 0
    for number, line in numbered_lines(path):
        line = line.strip()
        if not line:
            continue
        if line.startswith("#"):
            if entry.translated():
                yield entry
                entry, keyword = _Entry(), ""
            entry.fuzzy = _is_fuzzy(line, entry.fuzzy)
            continue
        keyword_line = PO_KEYWORD.fullmatch(line)
        if keyword_line:
            if keyword_line[1] in ("msgctxt", "msgid") and entry.translated():
                yield entry
                entry = _Entry()
            keyword = keyword_line[1]
            _check_order(path, number, keyword, entry)
            entry.strings[keyword] = _po_string(path, number, keyword_line[2])
        elif line.startswith('"') and keyword:
            entry.strings[keyword] += _po_string(path, number, line)
        else:
            raise _invalid_po(path, number, "neither a comment nor msgid, msgstr or a string in quotes")
    if entry.translated():
        yield entry
    elif entry.strings:
        raise _invalid_po(path, number, "the file ends inside an entry")


def _is_fuzzy(comment: str, fuzzy: bool) -> bool:
    if comment.startswith("#~"):  # a flag before an obsolete entry belongs to it
        return False
    return fuzzy or (comment.startswith("#,") and "fuzzy" in re.split(r"[,\s]+", comment))


def _check_order(path: Path, number: int, keyword: str, entry: _Entry) -> None:
    if keyword in entry.strings:
        raise _invalid_po(path, number, f"a second {keyword} in one entry")
    if keyword not in ("msgctxt", "msgid") and "msgid" not in entry.strings:
        raise _invalid_po(path, number, f"{keyword} without a msgid before it")
    if keyword == "msgctxt" and entry.strings:
        raise _invalid_po(path, number, "msgctxt after the msgid")


def _po_string(path: Path, number: int, quoted: str) -> str:
    string = PO_STRING.fullmatch(quoted)
    if string is None:
        raise _invalid_po(path, number, "a string that is not closed, or a quote inside it without \\")

    def unescape(match: re.Match[str]) -> str:
        if match[1] not in PO_ESCAPES:
            raise _invalid_po(path, number, f"the unknown escape \\{match[1]}")
        return PO_ESCAPES[match[1]]

    return re.sub(r"\\(.)", unescape, string[1])


def _invalid_po(path: Path, number: int, reason: str) -> DataError:
    return DataError(
        f"{path}, line {number} is not valid gettext ({reason}): correct it; `msgfmt -c` finds such errors."
    )
