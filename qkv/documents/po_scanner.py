"""Entries of gettext catalogs, and where their parts are. Linear in the length of the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from qkv.documents.po_text import unescape
from qkv.errors import DataError

LINE = re.compile(r"[^\n]*\n|[^\n]+")
KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,3})\])?)(?=[\s\"]|$)")
BEGINS = re.compile(r"#|msgctxt|msgid(?!_)")  # an entry
STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"')

Place = tuple[int, int]  # characters: start and end


@dataclass
class PoString:
    """The text after a keyword, and the range from its first quote to its last."""

    text: str = ""
    start: int = -1
    end: int = -1
    lines: int = 0


@dataclass
class PoEntry:
    strings: dict[str, PoString] = field(default_factory=dict)
    flags: list[Place] = field(default_factory=list)  # whole lines
    flag_names: set[str] = field(default_factory=set)
    previous: list[Place] = field(default_factory=list)  # lines with the source text before it changed
    start: int = -1  # of the line with the first keyword

    @property
    def is_translation(self) -> bool:
        """Whether a msgstr has been read, after which a new entry starts."""
        return any(keyword.startswith("msgstr") for keyword in self.strings)

    @property
    def is_header(self) -> bool:
        return self.strings["msgid"].text == "" and "msgctxt" not in self.strings

    @property
    def end(self) -> int:
        """The end of the last string."""
        return max(string.end for string in self.strings.values())

    def text(self, keyword: str) -> str:
        return self.strings[keyword].text if keyword in self.strings else ""


def entries_of(text: str) -> Iterator[PoEntry]:
    """All entries except obsolete ones."""
    entry, keyword, number = PoEntry(), "", 0
    for number, match in enumerate(LINE.finditer(text), 1):
        line = match[0].strip()
        if not line:
            continue
        if entry.is_translation and BEGINS.match(line):
            yield complete(entry, number)
            entry, keyword = PoEntry(), ""
        if line.startswith("#~"):
            if entry.strings:
                raise invalid(number, "an obsolete entry inside another entry")
            entry = PoEntry()  # comments before an obsolete entry belong to it
        elif line.startswith("#"):
            read_comment(entry, line, match.span())
        else:
            keyword = read_strings(entry, keyword, line, match.start() + match[0].index(line), number)
            entry.start = match.start() if entry.start < 0 else entry.start
    if entry.strings:
        yield complete(entry, number)


def read_comment(entry: PoEntry, line: str, place: Place) -> None:
    if line.startswith("#,"):
        entry.flags.append(place)
        entry.flag_names |= {name.strip() for name in line[2:].split(",")}
    elif line.startswith("#|"):
        entry.previous.append(place)


def read_strings(entry: PoEntry, keyword: str, line: str, start: int, number: int) -> str:
    """Add a line with a keyword, or with more of its text. Returns the keyword."""
    found, place = KEYWORD.match(line), 0
    if found:
        keyword, place = found[1], found.end()
        check_order(entry, keyword, number)
        entry.strings[keyword] = PoString()
    elif not line.startswith('"') or not keyword:
        raise invalid(number, "neither a comment nor msgid, msgstr or a string in quotes")
    string = entry.strings[keyword]
    string.lines += 1
    while place < len(line):
        if line[place] in " \t":
            place += 1
            continue
        part = STRING.match(line, place)
        if part is None:
            raise invalid(number, "a string that is not closed, or a quote inside it without \\")
        text = unescape(part[1])
        if text is None:
            raise invalid(number, "an unknown escape after \\")
        string.text += text
        string.start = start + part.start() if string.start < 0 else string.start
        string.end, place = start + part.end(), part.end()
    return keyword


def check_order(entry: PoEntry, keyword: str, number: int) -> None:
    if keyword in entry.strings:
        raise invalid(number, f"a second {keyword} in one entry")
    if keyword not in ("msgctxt", "msgid") and "msgid" not in entry.strings:
        raise invalid(number, f"{keyword} without a msgid before it")
    if keyword == "msgctxt" and entry.strings:
        raise invalid(number, "msgctxt after the msgid")
    if keyword.startswith("msgstr") and ("msgid_plural" in entry.strings) != (keyword != "msgstr"):
        raise invalid(number, f"{keyword} does not fit the entry: only one with msgid_plural has msgstr[0]")


def complete(entry: PoEntry, number: int) -> PoEntry:
    if not entry.is_translation:
        raise invalid(number, "an entry without a msgstr")
    if any(string.start < 0 for string in entry.strings.values()):
        raise invalid(number, "a keyword without a string")
    return entry


def invalid(number: int, reason: str) -> DataError:
    return DataError(
        f"line {number:,} is not valid gettext ({reason}): correct it; `msgfmt -c` finds such errors."
    )


def is_fuzzy(entry: PoEntry) -> bool:
    return "fuzzy" in entry.flag_names
