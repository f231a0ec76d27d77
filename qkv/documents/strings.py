r"""Strings of Apple's programs (.strings): every value is a segment."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qkv.documents.document import Document, Segment
from qkv.documents.encodings import Decoded, decode, decode_as
from qkv.documents.unicode_escapes import SURROGATE, UnicodeEscapes, joined_surrogates
from qkv.errors import DataError

TOKEN = re.compile(
    r'\s*+(?:/\*.*?\*/\s*+|//[^\r\n]*+\s*+)*+(?:"(?P<string>(?:[^"\\]++|\\.)*+)"|(?P<word>[\w.$/:-]++)|(?P<mark>[=;])|(?P<end>\Z))',
    re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:[uU]([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
CODES = re.compile(r"(?<!\\)(?:\\\\)*\\([uU])([0-9a-fA-F]{4})")
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
WRITTEN = {character: f"\\{letter}" for letter, character in LETTERS.items()} | {"\\": "\\\\", '"': '\\"'}


@dataclass(frozen=True)
class String:
    """A value and its range, with its quotes."""

    key: str
    value: str
    start: int
    end: int


def read_strings(content: bytes, target: str | None = None) -> Document:
    decoded = decode_strings(content)
    strings = [
        each for each in strings_of(decoded.text) if each.value.strip() and not SURROGATE.search(each.value)
    ]
    codes = CODES.findall(decoded.text)
    escapes = UnicodeEscapes.of(
        (code for _, code in codes), is_ascii=decoded.text.isascii(), letter=codes[0][0] if codes else "U"
    )
    offsets = decoded.offsets(place for each in strings for place in (each.start, each.end))

    def encode(text: str) -> bytes:
        return decoded.encode(quoted(text, escapes))

    segments = [
        Segment(
            text=each.value,
            start=offsets[each.start],
            end=offsets[each.end],
            encode=encode,
            key=each.key,
            dialect="c-format",
        )
        for each in strings
    ]
    return Document(
        content=content, segments=tuple(segments), media_type="text/plain", encoding=decoded.encoding
    )


def decode_strings(content: bytes) -> Decoded:
    """Older files are in UTF-16, sometimes without a byte order mark."""
    if content.startswith(b"bplist"):
        raise DataError("it is a binary property list: convert it with `plutil -convert strings`.")
    if b"\x00" in content[:100] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return decode_as(content, "utf-16-be" if content[:1] == b"\x00" else "utf-16-le", 0)
    return decode(content)


def strings_of(text: str) -> Iterator[String]:
    """Values after an equals sign. A key alone stands for itself and has no value."""
    place, wants, key = 0, "key", ""
    while True:
        token = TOKEN.match(text, place)
        if token is None:
            raise invalid(text, place, "something that is neither a string, = nor ;")
        kind, place = token.lastgroup, token.end()
        if kind == "end" and wants == "key":
            return
        if kind in ("string", "word") and wants in ("key", "value"):
            value = unescape(token["string"]) if kind == "string" else token["word"]
            if wants == "value":
                start = token.start("string") - 1 if kind == "string" else token.start("word")
                yield String(key, value, start, place)
            key, wants = (value, "= or ;") if wants == "key" else (key, ";")
        elif token["mark"] == "=" and wants == "= or ;":
            wants = "value"
        elif token["mark"] == ";" and wants in ("= or ;", ";"):
            wants = "key"
        else:
            raise invalid(text, max(token.start(kind or 0) - 1, 0), f"{wants} is missing")


def unescape(raw: str) -> str:
    if "\\" not in raw:
        return raw

    def character(match: re.Match[str]) -> str:
        code, octal, letter = match.groups()
        if letter is not None:
            return LETTERS.get(letter, letter)
        return chr(int(code, 16) if code else int(octal, 8))

    return joined_surrogates(ESCAPE.sub(character, raw))


def quoted(text: str, escapes: UnicodeEscapes) -> str:
    return '"' + "".join(character_in(text, escapes)) + '"'


def character_in(text: str, escapes: UnicodeEscapes) -> Iterator[str]:
    for each in text:
        if each in WRITTEN:
            yield WRITTEN[each]
        elif each < " " or escapes.are_needed_for(each):
            yield escapes.escape(each)
        else:
            yield each


def invalid(text: str, place: int, reason: str) -> DataError:
    line = text.count("\n", 0, place) + 1
    return DataError(
        f"line {line:,} is not valid in a .strings file ({reason}): correct it; `plutil -lint` finds such errors."
    )
