"""Document: the bytes of a file, and where the texts to translate are in them.

A reader never parses and writes a file again. It finds byte ranges, and only these are replaced. So everything else stays
as it was, whatever the format is.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from qkv.documents.codes import Codes
from qkv.documents.comparing import differences
from qkv.errors import InputError
from qkv.text.protect import Kind

State = Literal["untranslated", "fuzzy", "translated"]
Links = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Edit:
    """Bytes that replace a byte range. An empty range is an insertion."""

    start: int
    end: int
    content: bytes


@dataclass(frozen=True)
class NewText:
    """A translation, and whether a person should check it."""

    text: str
    doubtful: bool = False
    alignment: Links | None = None
    """Pairs of a source word and a word of the text, counted from 0, if they are known."""


NewTexts = Sequence[NewText | None]
Comparison = Callable[[bytes, NewTexts], list[range]]
"""The places of segments whose new texts a written file lacks. An empty range is a place where it has more."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A text to translate, and the byte range that its translation replaces."""

    text: str
    start: int
    end: int
    encode: Callable[[str], bytes]
    """How a translation is written at this place: quoting, escaping and character encoding."""
    markup: bool = False
    """Whether the text contains tags and entities."""
    codes: Codes | None = None
    """What the inline codes of the text stand for; None if it has none."""
    key: str = ""
    """The name of the text in its file: a path of keys, or the source text of a catalog."""
    context: str = ""
    """What tells equal texts apart, such as a msgctxt."""
    target: str | None = None
    """The translation that the file already has; None if the format holds one language, so the text itself is replaced."""
    state: State = "untranslated"
    dialect: Kind | None = None
    """How placeholders are written; None if the file does not say it."""
    protect: tuple[Kind, ...] = ()
    """Kinds of spans to protect in addition."""
    protect_pattern: tuple[str, ...] = ()
    """Regular expressions of spans to protect in addition."""
    spans: tuple[tuple[int, int], ...] = ()
    """Ranges of characters of the text that are copied unchanged. They must not overlap."""
    max_length: int | None = None
    """The most characters that a translation may have."""
    plural: str = ""
    """The plural form: a number for gettext, a category such as "one" elsewhere."""
    numbers: tuple[str, ...] = ()
    """Numbers for which the target language uses this plural form; see `qkv.documents.plural_forms`. Empty if it is not known."""
    is_ambiguous: bool = False
    """Whether the source text does not tell which plural form is wanted, so that a number must."""
    is_message: bool = False
    """Whether it is an ICU message with plural or select."""
    held: str = ""
    """Why it is not translated, if it cannot be."""
    spread: "Callable[[NewText], Iterable[Edit]] | None" = None
    """For a sentence that stands in several places between `start` and `end`: how its translation is divided among them."""

    @property
    def current(self) -> str:
        """What the file has at this place."""
        return self.text if self.target is None else self.target

    def edits(self, new: NewText) -> Iterable[Edit]:
        if self.spread is not None:
            return self.spread(new)
        return [Edit(self.start, self.end, self.encode(new.text))]

    def essence(self, text: str) -> str:
        """A translation without what the file does not keep, such as the numbers of codes."""
        return self.codes.essence(text) if self.codes else text


def are_changed(segments: Iterable[Segment], new: NewTexts) -> bool:
    """Whether any segment gets another text."""
    both = zip(segments, new, strict=True)
    return any(each is not None and each.text != segment.current for segment, each in both)


def no_marks(new: NewTexts) -> Iterable[Edit]:
    return ()


def spliced(content: bytes, edits: Iterable[Edit]) -> bytes:
    """Insertions at one place keep their order."""
    parts, last = [], 0
    for edit in sorted(edits, key=lambda each: (each.start, each.end)):
        if edit.start < last:
            raise InputError(f"two edits overlap at byte {edit.start:,}.")
        parts += [content[last : edit.start], edit.content]
        last = edit.end
    return b"".join([*parts, content[last:]])


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file. Segments do not overlap.

    Example:
        >>> document = read_document("note.txt", b"one\\ntwo\\n")
        >>> [segment.text for segment in document.segments]
        ['one', 'two']
        >>> document.write(["eins", None])
        b'eins\\ntwo\\n'
    """

    content: bytes
    """What the places of segments refer to: the file, or the members of an archive one after the other."""
    segments: tuple[Segment, ...]
    media_type: str
    encoding: str = "utf-8"
    source_language: str | None = None
    """As the file states it."""
    target_language: str | None = None
    forbidden: re.Pattern[str] | None = None
    """Characters that the format cannot hold."""
    marks: Callable[[NewTexts], Iterable[Edit]] = no_marks
    """Edits outside the texts that follow from them, such as flags of doubt and the language in a header."""
    splice: Callable[[bytes, Iterable[Edit]], bytes] = spliced
    """How a file is made of the content and edits of it."""
    compare: Comparison | None = None
    """Where a written file lacks these texts, if its segments do not show it: sentences of subtitles may join anew."""

    def write(self, translations: Sequence[str | NewText | None]) -> bytes:
        """The file with these texts in place of its segments. A segment without a new text keeps its bytes."""
        if len(translations) != len(self.segments):
            raise InputError(f"{len(translations)} translations for {len(self.segments)} segments.")
        new = [NewText(each) if isinstance(each, str) else each for each in translations]
        edits = [
            edit
            for segment, each in zip(self.segments, new, strict=True)
            if each is not None and each.text != segment.current
            for edit in segment.edits(each)
        ]
        return self.splice(self.content, [*edits, *self.marks(new)])

    def differences(self, written: bytes, new: NewTexts, read: Callable[[bytes], "Document"]) -> list[range]:
        """The places of segments whose new texts a written file lacks; none if it is exact. `read` is its reader."""
        if self.compare is not None:
            return self.compare(written, new)
        wanted = [
            segment.essence(each.text if each else segment.current)
            for segment, each in zip(self.segments, new, strict=True)
        ]
        return differences(wanted, [segment.essence(segment.current) for segment in read(written).segments])

    def storable(self, text: str) -> str:
        """The text with a question mark for each character that the encoding or the format of the file lacks."""
        if self.forbidden is not None:
            return self.forbidden.sub("?", text)
        return text.encode(self.encoding, errors="replace").decode(self.encoding)
