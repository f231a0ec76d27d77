"""Plain text: every line is a segment."""

import re

from qkv.documents.document import Document, Segment
from qkv.documents.encodings import decode
from qkv.errors import DataError

LINE = re.compile(r"[^\r\n]+")


def read_plain(content: bytes, target: str | None = None) -> Document:
    decoded = decode(content)
    if "\x00" in decoded.text:
        raise DataError("the file is not text: it contains null characters.")
    lines = [match for match in LINE.finditer(decoded.text) if match[0].strip()]
    offsets = decoded.byte_offsets([place for line in lines for place in line.span()])
    segments = [
        Segment(text=line[0], start=next(offsets), end=next(offsets), encode=decoded.encode) for line in lines
    ]
    return Document(
        content=content, segments=tuple(segments), media_type="text/plain", encoding=decoded.encoding
    )
