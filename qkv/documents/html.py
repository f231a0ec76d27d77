"""HTML: the texts between block elements, with their inline tags."""

import re

from qkv.documents.document import Document, Segment
from qkv.documents.encodings import decode
from qkv.documents.markup import HTML, cut_markup

DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
SEARCHED = 4_096  # bytes: browsers look for the declaration in the first 1,024


def read_html(content: bytes) -> Document:
    declared = DECLARED.search(content[:SEARCHED])
    decoded = decode(content, declared and declared[1].decode("ascii"))
    pieces = cut_markup(decoded.text, HTML)
    offsets = decoded.byte_offsets([place for piece in pieces for place in (piece.start, piece.end)])
    segments = [
        Segment(
            text=piece.text,
            start=next(offsets),
            end=next(offsets),
            encode=lambda text, piece=piece: decoded.encode(piece.restore(text)),  # type: ignore[misc]
            markup=True,
        )
        for piece in pieces
    ]
    return Document(
        content=content, segments=tuple(segments), media_type="text/html", encoding=decoded.encoding
    )
