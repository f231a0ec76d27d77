"""Gettext catalogs (.po, .pot): every msgstr is a segment."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from qkv.documents.document import Document, Edit, NewTexts, Segment, State
from qkv.documents.encodings import MARKS, Decoded, decode, decode_as, is_text_encoding
from qkv.documents.plural_forms import MOST_FORMS, Numbers, gettext_numbers, plural_forms
from qkv.documents.po_scanner import Place, PoEntry, entries_of, is_fuzzy
from qkv.documents.po_text import quoted
from qkv.errors import DataError
from qkv.text.protect import Kind

CHARSET = re.compile(rb"Content-Type:[^\"\\\r\n]{0,100}charset=([A-Za-z0-9_.:+-]{1,40})", re.IGNORECASE)
SEARCHED = 65_536  # bytes: a long licence may stand before the header
NO_CHARSET = "CHARSET"  # of a template
DIALECTS: dict[str, Kind] = {
    "python-format": "python-format",
    "python-brace-format": "python-brace-format",
    "c-format": "c-format",
    "objc-format": "c-format",
    "php-format": "c-format",
    "perl-format": "c-format",
    "qt-format": "qt-format",
    "qt-plural-format": "qt-format",
    "kde-format": "qt-format",
    "ruby-format": "ruby-format",
}
FIELD_START = r'(?:(?<=")|(?<=\\n))'
EMPTY_LANGUAGE = re.compile(rf"{FIELD_START}Language:[ \t]*(?=\\n)")
EMPTY_FORMS = re.compile(
    rf"{FIELD_START}Plural-Forms:[ \t]*(?:nplurals=INTEGER; plural=EXPRESSION;)?[ \t]*(?=\\n)"
)
EMPTY_CHARSET = re.compile(rf"charset={NO_CHARSET}(?=\\n)")


def read_po(content: bytes, target: str | None = None) -> Document:
    decoded = decode_po(content)
    entries = list(entries_of(decoded.text))
    header = next((entry for entry in entries if entry.is_header), None)
    fields = header_fields(header)
    stated = stated_forms(fields, target)
    catalog = Catalog(
        decoded=decoded,
        offsets=decoded.offsets(place for entry in entries for place in places_in(entry)),
        line_break="\r\n" if "\r\n" in decoded.text else "\n",
        forms=count_forms(stated),
        numbers=gettext_numbers(stated),
        header=header,
        target=target,
    )
    messages = [catalog.message(entry) for entry in entries if not entry.is_header]
    return Document(
        content=content,
        segments=tuple(segment for message in messages for segment in message.segments),
        media_type="text/x-gettext-translation",
        encoding=decoded.encoding,
        target_language=fields.get("language") or None,
        marks=lambda new: catalog.marks(messages, new),
    )


def decode_po(content: bytes) -> Decoded:
    found = CHARSET.search(content[:SEARCHED])
    charset = found[1].decode("ascii") if found else NO_CHARSET
    if charset.upper() == NO_CHARSET or content.startswith(tuple(mark for mark, _ in MARKS)):
        return decode(content)
    if not is_text_encoding(charset):
        raise DataError(f"the header states the charset '{charset}', which is unknown: correct it.")
    return decode_as(content, charset, 0)


def header_fields(header: PoEntry | None) -> dict[str, str]:
    lines = header.text("msgstr").splitlines() if header else []
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def stated_forms(fields: dict[str, str], target: str | None) -> str:
    """Plural-Forms by the header, or by the language if the header is empty."""
    stated = fields.get("plural-forms", "")
    return stated if stated and "INTEGER" not in stated else (target and plural_forms(target)) or ""


def count_forms(stated: str) -> int | None:
    """The number of plural forms; None if it is not known."""
    found = re.search(r"nplurals\s*=\s*(\d{1,9})", stated)
    if found is None:
        return None
    if not 1 <= int(found[1]) <= MOST_FORMS:
        raise DataError(f"the header states {found[1]} plural forms: correct it.")
    return int(found[1])


def places_in(entry: PoEntry) -> Iterator[int]:
    """The character offsets where edits may start or end."""
    yield from (entry.start, entry.end)
    for start, end in (*entry.flags, *entry.previous):
        yield from (start, end)
    for keyword, string in entry.strings.items():
        if keyword.startswith("msgstr"):
            yield from (string.start, string.end)


@dataclass(frozen=True)
class Message:
    """An entry and its segments: one, or one for each plural form."""

    entry: PoEntry
    segments: tuple[Segment, ...]


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """What all entries of a file share."""

    decoded: Decoded
    offsets: dict[int, int]
    line_break: str
    forms: int | None
    numbers: tuple[Numbers, ...]
    header: PoEntry | None
    target: str | None

    def message(self, entry: PoEntry) -> Message:
        if "msgid_plural" not in entry.strings:
            return Message(entry, (self.segment(entry, "msgstr", entry.text("msgid")),))
        slots = [int(name[7:-1]) for name in entry.strings if name.startswith("msgstr[")]
        forms = self.forms or max(slots) + 1
        segments = []
        for form in range(forms):
            numbers = self.numbers[form] if form < len(self.numbers) else ()
            singular = forms > 1 and ("1" in numbers if numbers else form == 0)
            segment = self.segment(
                entry, f"msgstr[{form}]", entry.text("msgid" if singular else "msgid_plural")
            )
            ambiguous = forms > 2 and not singular
            segments.append(replace(segment, plural=str(form), numbers=numbers, is_ambiguous=ambiguous))
        return Message(entry, tuple(segments))

    def segment(self, entry: PoEntry, keyword: str, source: str) -> Segment:
        """A plural form that the entry lacks is inserted after the last one."""
        string = entry.strings.get(keyword)
        start, end = (string.start, string.end) if string else (entry.end, entry.end)
        before = "" if string else f"{self.line_break}{keyword} "
        target = string.text if string else ""
        state: State = "untranslated" if not target else "fuzzy" if is_fuzzy(entry) else "translated"
        wrapped = entry.strings["msgid"].lines > 1
        return Segment(
            text=source,
            start=self.offsets[start],
            end=self.offsets[end],
            encode=lambda text: self.encode(before + quoted(text, self.line_break, wrapped=wrapped)),
            key=entry.text("msgid"),
            context=entry.text("msgctxt"),
            target=target,
            state=state,
            dialect=next((DIALECTS[name] for name in DIALECTS if name in entry.flag_names), None),
        )

    def encode(self, text: str) -> bytes:
        return self.decoded.encode(text)

    def marks(self, messages: Sequence[Message], new: NewTexts) -> Iterator[Edit]:
        """The flags of entries with new texts, and empty fields of the header."""
        rest = iter(new)
        for message in messages:
            yield from self.flag_edits(message, list(islice(rest, len(message.segments))))
        if self.target is not None and any(each is not None for each in new):
            yield from self.header_edits()

    def flag_edits(self, message: Message, new: NewTexts) -> Iterator[Edit]:
        """An entry is fuzzy if a new text is doubtful, or if a fuzzy text stays."""
        pairs = list(zip(message.segments, new, strict=True))
        given = [(segment, each) for segment, each in pairs if each is not None]
        if not given:
            return
        entry = message.entry
        left = any(each is None and segment.state == "fuzzy" for segment, each in pairs)
        fuzzy = left or any(each.doubtful for _, each in given)
        changed = any(each.text != segment.target for segment, each in given)
        if not fuzzy or (changed and not left):
            yield from (self.edit(place, "") for place in entry.previous)
        if fuzzy and not is_fuzzy(entry):
            yield self.added_flag(entry)
        elif is_fuzzy(entry) and not fuzzy:
            yield from (self.edit(place, self.without_fuzzy(place)) for place in entry.flags)

    def added_flag(self, entry: PoEntry) -> Edit:
        if entry.flags:
            start, end = entry.flags[0]
            return self.edit((start, end), self.decoded.text[start:end].replace("#,", "#, fuzzy,", 1))
        place = entry.previous[0][0] if entry.previous else entry.start
        return self.edit((place, place), f"#, fuzzy{self.line_break}")

    def without_fuzzy(self, place: Place) -> str:
        line = self.decoded.text[slice(*place)]
        names = [name.strip() for name in line.strip()[2:].split(",")]
        if "fuzzy" not in names:
            return line
        others = [name for name in names if name != "fuzzy"]
        return f"#, {', '.join(others)}{self.line_break}" if others else ""

    def header_edits(self) -> Iterator[Edit]:
        if self.header is None or self.target is None:
            return
        string = self.header.strings["msgstr"]
        raw = self.decoded.text[string.start : string.end]
        made = EMPTY_LANGUAGE.sub(f"Language: {self.target.replace('-', '_')}", raw)
        forms = plural_forms(self.target)
        made = EMPTY_FORMS.sub(f"Plural-Forms: {forms}", made) if forms else made
        made = EMPTY_CHARSET.sub("charset=UTF-8", made)
        if made != raw:
            yield self.edit((string.start, string.end), made)

    def edit(self, place: Place, text: str) -> Edit:
        return Edit(self.offsets[place[0]], self.offsets[place[1]], self.encode(text))
