"""Tables (.csv, .tsv, .jsonl): one column is read, and another one, or the same, gets the translations."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from qkv.documents.document import Document, Edit, NewTexts, Segment, are_changed
from qkv.documents.encodings import Decoded, decode
from qkv.documents.json_scanner import strings_of
from qkv.documents.reading import DEFAULT_READING, Reading
from qkv.errors import DataError, InputError, OptionError

LINE_BREAK = re.compile(r"\r\n|\r|\n")
LINE = re.compile(r"[^\r\n]+")
Row = tuple[str, int, int]
"""A field: its text and its range of characters, with quotes."""


def read_csv(content: bytes, reading: Reading = DEFAULT_READING) -> Document:
    """The separator is a comma, a semicolon or a tab: that which the header has."""
    decoded = decode(content)
    header = decoded.text.partition("\n")[0]
    return read_table(content, decoded, max(",;\t", key=header.count), reading, "text/csv")


def read_tsv(content: bytes, reading: Reading = DEFAULT_READING) -> Document:
    return read_table(content, decode(content), "\t", reading, "text/tab-separated-values")


def read_table(
    content: bytes, decoded: Decoded, separator: str, reading: Reading, media_type: str
) -> Document:
    rows = list(rows_of(decoded.text, separator))
    names = [field[0] for field in rows[0]] if rows else []
    source = position(names, reading.column)
    target = names.index(reading.output_column) if reading.output_column in names else None
    body = [row for row in rows[1:] if len(row) > source]
    offsets = decoded.offsets(place for row in rows for _, *range_ in (*row, row[-1]) for place in range_)
    table = Table(decoded, separator, offsets, source, target, len(names), reading.output_column)
    segments = tuple(
        table.segment(number, row) for number, row in enumerate(body, 1) if row[source][0].strip()
    )

    def marks(new: NewTexts) -> Iterator[Edit]:
        """A new column has a name."""
        if rows and target is None and source != target and are_changed(segments, new):
            end = offsets[rows[0][-1][2]]
            yield Edit(end, end, table.encode(separator, reading.output_column))

    return Document(
        content=content, segments=segments, media_type=media_type, encoding=decoded.encoding, marks=marks
    )


def position(names: Sequence[str], column: str | None) -> int:
    known = ", ".join(names[:10])
    if column is None:
        raise OptionError(("column", f"must name the column to translate: this table has {known}"))
    if column not in names:
        raise InputError(f"the table has no column '{column}'; it has {known}.")
    return names.index(column)


@dataclass(frozen=True)
class Table:
    decoded: Decoded
    separator: str
    offsets: dict[int, int]
    source: int
    target: int | None
    width: int
    output: str

    def segment(self, number: int, row: Sequence[Row]) -> Segment:
        """A row that ends before the output column is filled up with empty fields."""
        text = row[self.source][0]
        if self.target is not None and self.target < len(row):
            own, start, end = row[self.target]
            before = ""
        else:
            own, start, end = "", row[-1][2], row[-1][2]
            column = self.width if self.target is None else self.target
            before = self.separator * max(1, column - len(row) + 1)
        return Segment(
            text=text,
            start=self.offsets[start],
            end=self.offsets[end],
            encode=partial(self.encode, before, quoted=self.decoded.text[start : start + 1] == '"'),
            key=str(number),
            target=None if self.target == self.source else own,
            state="translated" if own.strip() and self.target != self.source else "untranslated",
        )

    def encode(self, before: str, text: str, *, quoted: bool = False) -> bytes:
        special = (
            quoted or any(each in text for each in (self.separator, '"', "\n", "\r")) or text != text.strip()
        )
        written = '"' + text.replace('"', '""') + '"' if special else text
        return self.decoded.encode(before + written)


def rows_of(text: str, separator: str) -> Iterator[list[Row]]:
    """The fields of each row, without blank lines. Linear in the length of the text."""
    plain = re.compile(rf"[^{re.escape(separator)}\r\n]*+")
    quoted = re.compile(r'"((?:[^"]++|"")*+)"')
    place, row = 0, list[Row]()
    while place < len(text) or row:
        field = quoted.match(text, place)
        if field is None and text.startswith('"', place):
            raise DataError(
                f"line {text.count(chr(10), 0, place) + 1:,} has a quotation mark that is not closed."
            )
        found = field or plain.match(text, place)
        if found is None:
            break
        end = found.end()
        row.append((field[1].replace('""', '"') if field else found[0], place, end))
        if text.startswith(separator, end):
            place = end + 1
            continue
        line_break = LINE_BREAK.match(text, end)
        if line_break is None and end < len(text):
            line = text.count("\n", 0, end) + 1
            raise DataError(
                f"line {line:,} has text behind a closing quotation mark: double the marks inside a field."
            )
        if len(row) > 1 or row[0][0] or field:
            yield row
        place, row = (line_break.end() if line_break else len(text)), []


# JSON Lines ------------------------------------------------------------------------------------------


def read_jsonl(content: bytes, reading: Reading = DEFAULT_READING) -> Document:
    """One object in each line. A new key comes last."""
    if reading.column is None:
        raise InputError("a .jsonl file needs the name of the key to translate.")
    decoded = decode(content)
    found = [
        (number, line, *fields)
        for number, line in enumerate(LINE.finditer(decoded.text), 1)
        if line[0].strip() and (fields := fields_of(line, number, reading)) is not None
    ]
    if not found and decoded.text.strip():
        raise InputError(f"no line has a text under '{reading.column}'.")
    places = [place for *_, start, end, _ in found for place in (start, end)]
    offsets = decoded.offsets(places)
    same = reading.column == reading.output_column
    segments = tuple(
        Segment(
            text=text,
            start=offsets[start],
            end=offsets[end],
            encode=partial(encode_json, decoded, before),
            key=str(number),
            target=None if same else own,
            state="translated" if own.strip() and not same else "untranslated",
        )
        for number, _, text, own, start, end, before in found
    )
    return Document(
        content=content, segments=segments, media_type="application/jsonl", encoding=decoded.encoding
    )


def fields_of(line: re.Match[str], number: int, reading: Reading) -> tuple[str, str, int, int, str] | None:
    """The text, its translation, the range of that, and what is written before a new one."""
    try:
        strings = {each.path: each for each in strings_of(line[0])}
    except DataError:
        raise DataError(f"line {number:,} is not valid JSON: correct it.") from None
    text, own = strings.get((reading.column or "",)), strings.get((reading.output_column,))
    if text is None or not text.text.strip():
        return None
    if own is not None:
        return text.text, own.text, line.start() + own.start, line.start() + own.end, ""
    if reading.output_column in json.loads(line[0]):
        raise DataError(
            f"line {number:,} has '{reading.output_column}', but not as a string: choose another output column."
        )
    end = line.start() + len(line[0][: line[0].rstrip().rindex("}")].rstrip())
    return text.text, "", end, end, f", {json.dumps(reading.output_column, ensure_ascii=False)}: "


def encode_json(decoded: Decoded, before: str, text: str) -> bytes:
    return decoded.encode(
        before + json.dumps(text, ensure_ascii=decoded.text.isascii() and "\\u" in decoded.text)
    )
