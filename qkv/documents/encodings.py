"""The character encoding of a text file, from its first bytes."""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from qkv.errors import DataError

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Decoded:
    """A text, and where each of its characters is in the file."""

    text: str
    encoding: str
    skipped: int  # bytes of the byte order mark

    def encode(self, text: str) -> bytes:
        """Characters that the encoding lacks become question marks."""
        return text.encode(self.encoding, errors="replace")

    def byte_offsets(self, places: list[int]) -> Iterator[int]:
        """The byte offsets of character offsets in ascending order."""
        last, offset = 0, self.skipped
        for place in places:
            offset += len(self.text[last:place].encode(self.encoding, errors="surrogatepass"))
            last = place
            yield offset

    def offsets(self, places: Iterable[int]) -> dict[int, int]:
        """The byte offset of each of these character offsets, in one pass."""
        ordered = sorted(set(places))
        return dict(zip(ordered, self.byte_offsets(ordered), strict=True))


def decode(content: bytes, declared: str | None = None) -> Decoded:
    """Decode by the byte order mark, by the declared encoding, or as UTF-8."""
    for mark, encoding in MARKS:
        if content.startswith(mark):
            return decode_as(content, encoding, len(mark))
    if declared is not None and is_text_encoding(declared):
        return decode_as(content, declared, 0)
    return decode_as(content, "utf-8", 0)


def decode_as(content: bytes, encoding: str, skipped: int) -> Decoded:
    try:
        text = content[skipped:].decode(encoding)
        same = text.encode(encoding) == content[skipped:]
    except (UnicodeError, ValueError) as error:
        raise DataError(f"the file is not text in {encoding} ({error}). Save it as UTF-8.") from None
    if not same:  # a stateful encoding, where offsets have no meaning
        raise DataError(f"the encoding {encoding} is not supported. Save the file as UTF-8.")
    return Decoded(text, encoding, skipped)


def is_text_encoding(name: str) -> bool:
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    return found._is_text_encoding and found.name not in ("idna", "punycode", "undefined")
