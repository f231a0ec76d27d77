"""HTML: the texts between block elements with their inline tags, attributes that readers see, and the language of the page."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from qkv.documents.comparing import differences
from qkv.documents.document import Document, Edit, NewText, NewTexts, Segment, are_changed
from qkv.documents.encodings import Decoded, decode
from qkv.documents.html_attributes import Attribute, stated_languages, translated_attributes
from qkv.documents.markup import HTML, Piece, cut_markup, loose_markup

DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
SEARCHED = 4_096  # bytes: browsers look for the declaration in the first 1,024


def read_html(content: bytes, target: str | None = None) -> Document:
    declared = DECLARED.search(content[:SEARCHED])
    decoded = decode(content, declared and declared[1].decode("ascii"))
    page = Page.of(decoded)
    segments = [page.segment(slot) for slot in page.slots]
    languages = stated_languages(decoded.text) if target else []
    places = decoded.offsets(place for each in languages for place in (each.start, each.end))

    def marks(new: NewTexts) -> Iterator[Edit]:
        if target and are_changed(segments, new):
            for each in languages:
                yield Edit(places[each.start], places[each.end], decoded.encode(target))

    def compare(written: bytes, new: NewTexts) -> list[range]:
        texts = [old.text if each is None else each.text for old, each in zip(segments, new, strict=True)]
        wanted = [words_of(slot, text) for slot, text in zip(page.slots, texts, strict=True)]
        made = Page.of(decode(written, decoded.encoding)).slots
        return differences(wanted, [words_of(each, each.text) for each in made])

    return Document(
        content=content,
        segments=tuple(segments),
        media_type="text/html",
        encoding=decoded.encoding,
        marks=marks,
        compare=compare,
    )


def words_of(slot: Piece | Attribute, text: str) -> tuple[str, ...] | None:
    """What is compared: no white space, because a line break is a space, and no attributes, which have their own texts.

    None if a tag is not closed as it was: it would go on behind its text.
    """
    if isinstance(slot, Attribute):
        return (f"{slot.name}=", *text.split())
    if loose_markup(text, HTML) != loose_markup(slot.text, HTML):
        return None
    own = [each.with_quotes() for each in translated_attributes(text)]
    return tuple(slot.restore("".join(around(text, own))).split())


def around(text: str, attributes: Sequence[Attribute]) -> list[str]:
    """What is before, between and behind the values of these attributes."""
    starts = [0, *(each.end for each in attributes)]
    ends = [*(each.start for each in attributes), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


@dataclass(frozen=True)
class Page:
    decoded: Decoded
    slots: Sequence[Piece | Attribute]
    """In the order of their places. Attributes may be inside pieces."""
    attributes: Sequence[Attribute]
    offsets: dict[int, int]

    @classmethod
    def of(cls, decoded: Decoded) -> "Page":
        attributes = translated_attributes(decoded.text)
        both: list[Piece | Attribute] = [*cut_markup(decoded.text, HTML), *attributes]
        slots = sorted(both, key=lambda each: each.start)
        places = decoded.offsets(place for each in slots for place in (each.start, each.end))
        return cls(decoded, slots, attributes, places)

    def segment(self, slot: Piece | Attribute) -> Segment:
        start, end = self.offsets[slot.start], self.offsets[slot.end]
        if isinstance(slot, Attribute):
            return Segment(
                text=slot.text,
                start=start,
                end=end,
                encode=lambda text: self.decoded.encode(slot.escaped(text)),
                context=slot.name,
            )
        return Segment(
            text=slot.text,
            start=start,
            end=end,
            encode=lambda text: self.decoded.encode(slot.restore(text)),
            markup=True,
            spread=partial(self.spread, slot, own) if (own := self.attributes_in(slot)) else None,
        )

    def attributes_in(self, piece: Piece) -> Sequence[Attribute]:
        """Those of its inline tags. Elements that stay as they are have none."""
        first = bisect_left(self.attributes, piece.start, key=lambda each: each.start)
        return self.attributes[first : bisect_left(self.attributes, piece.end, key=lambda each: each.start)]

    def spread(self, piece: Piece, own: Sequence[Attribute], new: NewText) -> Iterator[Edit]:
        """Only what is around the values of attributes, which are texts of their own.

        If the translation does not have these attributes in this order, the source stays, so the text does not read back.
        """
        found = translated_attributes(new.text)
        if [(each.name, each.text) for each in found] != [(each.name, each.text) for each in own]:
            return
        starts = [piece.start, *(each.end for each in own)]
        ends = [*(each.start for each in own), piece.end]
        for start, end, text in zip(starts, ends, around(new.text, found), strict=True):
            yield Edit(self.offsets[start], self.offsets[end], self.decoded.encode(piece.restore(text)))
