"""HTML: the texts between block elements, with their inline tags."""

import re

from qkv.documents.comparing import differences
from qkv.documents.document import Document, NewTexts, Segment
from qkv.documents.encodings import decode
from qkv.documents.markup import HTML, cut_markup, loose_markup

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

    def compare(written: bytes, new: NewTexts) -> list[range]:
        """White space does not count: a line break is a space. A tag that is not closed would go on behind its text."""
        texts = [
            segment.text if each is None else each.text for segment, each in zip(segments, new, strict=True)
        ]
        wanted = [
            words_of(text) if loose_markup(text, HTML) == loose_markup(segment.text, HTML) else None
            for segment, text in zip(segments, texts, strict=True)
        ]
        made = cut_markup(decode(written, decoded.encoding).text, HTML)
        return differences(wanted, [words_of(piece.text) for piece in made])

    return Document(
        content=content,
        segments=tuple(segments),
        media_type="text/html",
        encoding=decoded.encoding,
        compare=compare,
    )


def words_of(text: str) -> tuple[str, ...]:
    return tuple(text.split())
