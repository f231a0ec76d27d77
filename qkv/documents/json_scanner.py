"""Strings of JSON files, and where they are. Linear in the length of the text, and without recursion."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qkv.documents.unicode_escapes import joined_surrogates
from qkv.errors import DataError

TOKEN = re.compile(
    r'[ \t\r\n]*+(?:(?P<string>"(?:[^"\\\x00-\x1f]++|\\.)*+")|(?P<mark>[\[\]{},:])'
    r"|(?P<word>true|false|null|-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?)|(?P<end>$(?!\n)))"
)
DEEPEST = 500  # objects and arrays inside each other
STRING_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


@dataclass(frozen=True)
class JsonString:
    """A string value with the keys that lead to it. The range includes its quotes, `key` is where its own key begins."""

    path: tuple[str | int, ...]
    text: str
    start: int
    end: int
    key: int = -1


@dataclass
class Level:
    """An open object or array."""

    is_object: bool
    key: str | int = -1  # of the value that is read or was read last
    key_start: int = -1


def strings_of(text: str) -> Iterator[JsonString]:
    """All string values; keys are not values."""
    levels: list[Level] = []
    place, wants = 0, "value"  # value, first (value or end), key, first key, colon, comma, end
    while True:
        token = TOKEN.match(text, place)
        if token is None:
            raise invalid(text, place, "something that is not JSON")
        kind, raw, place = token.lastgroup, token[token.lastgroup or 0], token.end()
        start = place - len(raw)
        if wants in ("value", "first") and kind in ("string", "word"):
            if levels and not levels[-1].is_object:
                levels[-1].key = int(levels[-1].key) + 1
            if kind == "string":
                path = tuple(level.key for level in levels)
                key = levels[-1].key_start if levels else -1
                yield JsonString(path, unescape(text, start, raw), start, place, key)
            wants = "comma" if levels else "end"
        elif wants in ("value", "first") and raw in ("{", "["):
            if levels and not levels[-1].is_object:
                levels[-1].key = int(levels[-1].key) + 1
            levels.append(Level(is_object=raw == "{"))
            if len(levels) > DEEPEST:
                raise invalid(text, start, f"more than {DEEPEST} levels of nesting")
            wants = "first key" if raw == "{" else "first"
        elif wants in ("key", "first key") and kind == "string":
            levels[-1].key, wants = unescape(text, start, raw), "colon"
            levels[-1].key_start = start
        elif wants == "colon" and raw == ":":
            wants = "value"
        elif wants == "comma" and raw == ",":
            wants = "key" if levels[-1].is_object else "value"
        elif raw and wants in CLOSES.get(raw, ()) and levels and levels[-1].is_object == (raw == "}"):
            levels.pop()
            wants = "comma" if levels else "end"
        elif wants == "end" and kind == "end":
            return
        else:
            found = "the end of the file" if kind == "end" else f"'{raw[:20]}'"
            raise invalid(text, start, f"{found} in the wrong place")


CLOSES = {"}": ("comma", "first key"), "]": ("comma", "first")}


def unescape(text: str, start: int, quoted: str) -> str:
    """The text of a string."""
    raw = quoted[1:-1]
    if "\\" not in raw:
        return raw
    if "\\" in STRING_ESCAPE.sub("", raw):
        raise invalid(text, start, "an unknown escape after \\")
    made = STRING_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else LETTERS[match[2]], raw)
    return joined_surrogates(made)


def invalid(text: str, place: int, reason: str) -> DataError:
    line = text.count("\n", 0, place) + 1
    return DataError(f"line {line:,} is not valid JSON ({reason}): correct it.")
