"""Document: the bytes of a file, and where the texts to translate are in them.

A reader never parses and writes a file again. It finds byte ranges, and only these are replaced. So everything else stays
as it was, whatever the format is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qkv.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A text to translate, and the byte range that its translation replaces."""

    text: str
    start: int
    end: int
    encode: Callable[[str], bytes]
    """How a translation is written at this place: escaping and character encoding."""
    markup: bool = False
    """Whether the text contains tags and entities."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file. Segments are in the order of the file and do not overlap.

    Example:
        >>> document = read_document("note.txt", b"one\\ntwo\\n")
        >>> [segment.text for segment in document.segments]
        ['one', 'two']
        >>> document.write(["eins", "zwei"])
        b'eins\\nzwei\\n'
    """

    content: bytes
    segments: tuple[Segment, ...]
    media_type: str

    def write(self, translations: Sequence[str]) -> bytes:
        """The file with these texts in place of its segments."""
        if len(translations) != len(self.segments):
            raise InputError(f"{len(translations)} translations for {len(self.segments)} segments.")
        parts, last = [], 0
        for segment, translation in zip(self.segments, translations, strict=True):
            parts += [self.content[last : segment.start], segment.encode(translation)]
            last = segment.end
        return b"".join([*parts, self.content[last:]])
