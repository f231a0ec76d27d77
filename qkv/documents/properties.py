r"""Java properties (.properties): every value is a segment.

Values with {0} are MessageFormat patterns, where an apostrophe is written twice. Other values are taken as they are.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from qkv.documents.comparing import among_segments, differences
from qkv.documents.document import Document, NewTexts, Segment
from qkv.documents.encodings import MARKS, Decoded, decode, decode_as
from qkv.documents.icu import can_be_read, is_message
from qkv.documents.unicode_escapes import SURROGATE, UnicodeEscapes, joined_surrogates
from qkv.errors import DataError

# A logical line: a line that ends with an odd number of backslashes goes on in the next one.
LOGICAL = re.compile(
    r"[ \t\f]*+(?:(?P<comment>[#!])[^\r\n]*+|(?P<key>(?:[^\\\s=:]|\\(?:\r\n|.))*+)"
    r"(?P<separator>(?:[ \t\f]|\\(?:\r\n|\r|\n)[ \t\f]*+)*+[=:]?[ \t\f]*+(?:\\(?:\r\n|\r|\n)[ \t\f]*+)*+)"
    r"(?P<value>(?:[^\\\r\n]|\\(?:\r\n|.))*+)\\?+)(?:\r\n|\r|\n|\Z)",
    re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(?:\r\n|\r|\n)[ \t\f]*|(.))", re.DOTALL)
CODES = re.compile(r"(?<!\\)(?:\\\\)*\\u([0-9a-fA-F]{4})")
CONTINUATION = re.compile(r"\\(\r\n|\r|\n)([ \t\f]*)")
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
WRITTEN = {character: f"\\{letter}" for letter, character in LETTERS.items()} | {"\\": "\\\\"}
PUNCTUATION = "=:#!"  # some programs escape these in values, too
PATTERN = re.compile(r"\{\d")
CHOICE = re.compile(r"\{\s*\d+\s*,\s*choice\s*,")
LEAST_WIDTH = 40  # characters of lines that go on
WORD = re.compile(r"[^ ]+ *| +")


@dataclass(frozen=True)
class Property:
    key: str
    value: str
    raw: str
    start: int
    end: int


def read_properties(content: bytes, target: str | None = None) -> Document:
    decoded = decode_properties(content)
    properties = list(properties_of(decoded.text))
    style = Style.of(decoded)
    offsets = decoded.offsets(place for each in properties for place in (each.start, each.end))
    chosen = [each for each in properties if each.value.strip() and not SURROGATE.search(each.value)]
    segments = [
        Segment(
            text=plain(each.value),
            start=offsets[each.start],
            end=offsets[each.end],
            encode=partial(style.encode, each),
            key=each.key,
            dialect="icu-format" if is_pattern(each.value) else None,
            is_message=is_message(each.value),
            held=reason_to_hold(each.value),
        )
        for each in chosen
    ]

    def compare(written: bytes, new: NewTexts) -> list[range]:
        wanted = {each.start: each.value for each in properties}
        for each, text, segment in zip(chosen, new, segments, strict=True):
            if text is not None and text.text != segment.text:
                wanted[each.start] = quoted_as(each.value, text.text)
        made = properties_of(decode_properties(written, decoded.encoding).text)
        found = differences(
            [(each.key, wanted[each.start]) for each in properties], [(each.key, each.value) for each in made]
        )
        starts = [each.start for each in chosen]
        return among_segments(found, [*(bisect_left(starts, each.start) for each in properties), len(chosen)])

    return Document(
        content=content,
        segments=tuple(segments),
        media_type="text/x-java-properties",
        encoding="utf-8",  # characters that the file's encoding lacks are written as escapes
        compare=compare,
    )


def decode_properties(content: bytes, encoding: str | None = None) -> Decoded:
    """UTF-8, or ISO-8859-1 as Java 8 and earlier read it."""
    if encoding == "iso-8859-1":
        return decode_as(content, encoding, 0)
    try:
        return decode(content)
    except DataError:
        if content.startswith(tuple(mark for mark, _ in MARKS)) or b"\x00" in content:
            raise
        return decode_as(content, "iso-8859-1", 0)


def properties_of(text: str) -> Iterator[Property]:
    place = 0
    while place < len(text):
        match = LOGICAL.match(text, place)
        if match is None:  # a null character or the like cannot stop a logical line
            raise DataError(
                f"line {text.count(chr(10), 0, place) + 1:,} is not valid in a .properties file: correct it."
            )
        place = match.end() if match.end() > place else place + 1
        if match["comment"] is None and (match["key"] or match["value"] or match["separator"].strip()):
            yield Property(
                unescape(match["key"]),
                unescape(match["value"]),
                match["value"],
                match.start("value"),
                match.end("value"),
            )


def unescape(raw: str) -> str:
    if "\\" not in raw:
        return raw

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return LETTERS.get(match[2], match[2]) if match[2] else ""

    return joined_surrogates(ESCAPE.sub(character, raw))


# MessageFormat ---------------------------------------------------------------------------------------


def reason_to_hold(value: str) -> str:
    return (
        "choice"
        if CHOICE.search(value)
        else "message"
        if is_message(value) and not can_be_read(value)
        else ""
    )


def is_pattern(value: str) -> bool:
    """Whether apostrophes are doubled. A value with single ones as well quotes something, and stays as it is."""
    return not is_message(value) and PATTERN.search(value) is not None and "'" not in value.replace("''", "")


def plain(value: str) -> str:
    return value.replace("''", "'") if is_pattern(value) else value


def quoted_as(value: str, text: str) -> str:
    """A new text with apostrophes as in the value that it replaces."""
    return text.replace("'", "''") if is_pattern(value) else text


# Writing ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a file writes its values."""

    decoded: Decoded
    escapes: UnicodeEscapes
    punctuation: frozenset[str]

    @classmethod
    def of(cls, decoded: Decoded) -> "Style":
        """A file in ASCII has escapes only, because it may be read as UTF-8 or as ISO-8859-1."""
        codes = CODES.findall(decoded.text)
        escapes = UnicodeEscapes.of(codes, is_ascii=False)
        ascii_only = decoded.text.isascii() and decoded.skipped == 0
        return cls(
            decoded=decoded,
            escapes=UnicodeEscapes(escapes.characters, ascii_only, escapes.upper),
            punctuation=frozenset(each for each in PUNCTUATION if f"\\{each}" in decoded.text),
        )

    def encode(self, own: Property, text: str) -> bytes:
        value = self.escaped(quoted_as(own.value, text))
        lines = [value] if "\n" not in own.raw and "\r" not in own.raw else self.lines(own.raw, value)
        return "".join(lines).encode(self.decoded.encoding)

    def escaped(self, value: str) -> str:
        """The first character must not be read as a separator."""
        body = "".join(map(self.character, value))
        return f"\\{body}" if body[:1] in (" ", "=", ":") and body else body

    def character(self, character: str) -> str:
        if character in WRITTEN:
            return WRITTEN[character]
        if character in self.punctuation:
            return f"\\{character}"
        if self.escapes.are_needed_for(character) or character < " " or not self.has(character):
            return self.escapes.escape(character)
        return character

    def has(self, character: str) -> bool:
        return character <= "\x7f" or self.decoded.encoding != "iso-8859-1" or character <= "\xff"

    def lines(self, raw: str, value: str) -> list[str]:
        """A value over several lines, as wide as the source is and indented like it. Only after spaces."""
        found = CONTINUATION.search(raw)
        go_on = f"\\{found[1]}{found[2]}" if found else ""
        width = max(LEAST_WIDTH, *map(len, CONTINUATION.split(raw)[::3]))
        parts = [""]
        for word in WORD.findall(value):
            if parts[-1] and len(parts[-1]) + len(word) > width:
                parts[-1] += go_on
                parts.append("")
            parts[-1] += word
        return parts
