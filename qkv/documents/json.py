"""JSON files with strings of a program (.json), and those of Flutter (.arb): every string value is a segment."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qkv.documents.document import Document, Edit, NewTexts, Segment
from qkv.documents.encodings import Decoded, decode
from qkv.documents.icu import can_be_read, is_message
from qkv.documents.json_scanner import JsonString, strings_of
from qkv.documents.plural_keys import category_of, inserted, missing_keys
from qkv.documents.unicode_escapes import SURROGATE, UnicodeEscapes
from qkv.text.protect import Kind

UNREADABLE = "message"
UNICODE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u([0-9a-fA-F]{4})")
SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", '"': '"', "\\": "\\"}
LOCALE = "@@locale"


def read_json(content: bytes, target: str | None = None) -> Document:
    """Nested strings, as i18next and Vue have them. The file holds one language.

    Keys for plural forms that only the target language has are inserted.
    """
    decoded = decode(content)
    strings = list(strings_of(decoded.text))
    document = document_of(content, decoded, strings, "i18next-format")
    return replace(document, segments=with_missing_keys(document, decoded, strings, target or ""))


def read_arb(content: bytes, target: str | None = None) -> Document:
    """Keys that begin with @ are metadata. The locale becomes the target language."""
    decoded = decode(content)
    strings = list(strings_of(decoded.text))
    texts = [each for each in strings if not str(each.path[0] if each.path else "").startswith("@")]
    locale = next((each for each in strings if each.path == (LOCALE,)), None)
    return document_of(content, decoded, texts, "icu-format", locale, target)


@dataclass(frozen=True)
class Style:
    """Which characters a file writes as \\u escapes, and how."""

    escapes: UnicodeEscapes
    slashes: bool

    @classmethod
    def of(cls, text: str) -> "Style":
        escapes = UnicodeEscapes.of(UNICODE_ESCAPE.findall(text), is_ascii=text.isascii())
        return cls(escapes=escapes, slashes="\\/" in text)

    def quoted(self, text: str) -> str:
        return '"' + "".join(map(self.character, text)) + '"'

    def character(self, character: str) -> str:
        if character in SHORT:
            return f"\\{SHORT[character]}"
        if character == "/" and self.slashes:
            return "\\/"
        if character < " " or self.escapes.are_needed_for(character):
            return self.escapes.escape(character)
        return character


def document_of(
    content: bytes,
    decoded: Decoded,
    strings: Sequence[JsonString],
    dialect: Kind,
    locale: JsonString | None = None,
    target: str | None = None,
) -> Document:
    style = Style.of(decoded.text)
    slots = [*strings, *([locale] if locale else [])]
    offsets = decoded.offsets(place for each in slots for place in (each.start, each.end))

    def encode(text: str) -> bytes:
        return decoded.encode(style.quoted(text))

    def marks(new: NewTexts) -> Iterator[Edit]:
        if locale and target and any(each is not None for each in new):
            yield Edit(offsets[locale.start], offsets[locale.end], encode(target.replace("-", "_")))

    segments = [
        Segment(
            text=each.text,
            start=offsets[each.start],
            end=offsets[each.end],
            encode=encode,
            key=".".join(map(str, each.path)),
            dialect="icu-format" if is_message(each.text) else dialect,
            plural=category_of(each),
            is_message=is_message(each.text),
            held=UNREADABLE if is_message(each.text) and not can_be_read(each.text) else "",
        )
        for each in strings
        if each.text.strip() and not SURROGATE.search(each.text)
    ]
    return Document(
        content=content,
        segments=tuple(segments),
        media_type="application/json",
        encoding=decoded.encoding,
        source_language=locale.text if locale else None,
        marks=marks,
    )


def with_missing_keys(
    document: Document, decoded: Decoded, strings: Sequence[JsonString], target: str
) -> tuple[Segment, ...]:
    """The segments and those of keys that only the target language has, in the order of their places."""
    missing = [each for each in missing_keys(strings, target) if each.text.strip()]
    style, offsets = Style.of(decoded.text), decoded.offsets(each.behind.end for each in missing)
    added = [
        Segment(
            text=each.text,
            start=offsets[each.behind.end],
            end=offsets[each.behind.end],
            encode=lambda text, each=each: decoded.encode(  # type: ignore[misc]
                inserted(decoded.text, each, style.quoted(str(each.path[-1])), style.quoted(text))
            ),
            key=".".join(map(str, each.path)),
            target="",
            dialect="i18next-format",
            plural=each.category,
            numbers=each.numbers,
            is_ambiguous=True,
        )
        for each in missing
    ]
    return tuple(sorted((*document.segments, *added), key=lambda segment: (segment.start, segment.end)))
