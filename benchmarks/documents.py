"""Read and write every document in a folder, and count what holds: a table for each format.

    python benchmarks/documents.py FOLDER [--format docx]

For each file that can be read:

- identity: written with its own texts, it has the same bytes;
- exact: written with texts that are three times as long and full of quotes, backslashes, `&`, `<`, line breaks, emoji and right-to-left
  letters, it reads back with these texts and the same codes;
- outside: no byte outside the texts differs.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from qkv.documents import (
    CATALOGS,
    FORMATS,
    Document,
    NewText,
    Segment,
    extension_of,
    read_catalog,
    read_document,
)
from qkv.errors import DataError

NASTY = " \"q\" 'a' \\ \\n & &amp; < </w> > ]]> \n 😀 שלום {x} %s "
TARGET = "de"
XLIFF = re.compile(
    r"\s*<(?:\w+:)?target\b[^>]*?(?:/>|>.*?</(?:\w+:)?target>)|\s(?:state|state-qualifier|subState|target-language|trgLang)=(?:\"[^\"]*\"|'[^']*')",
    re.DOTALL,
)
FOLLOWS = {
    "xliff": XLIFF,
    "xlf": XLIFF,
    "ts": re.compile(r"<translation\b[^>]*?(?:/>|>.*?</translation>)|\slanguage=\"[^\"]*\"", re.DOTALL),
}
"""Targets with their states, and the language of the file."""
STATE_LANGUAGE = ("epub", "html", "htm", "yaml", "yml")  # what they state would differ outside the texts
COLUMNS = ("files", "read", "segments", "with codes", "characters", "identity", "exact", "outside")


def read(format: str, content: bytes) -> Document:
    if format in CATALOGS:
        return read_catalog(format, content, None if format in STATE_LANGUAGE else TARGET)
    return read_document(f"file.{format}", content)


def longer(segment: Segment, *, subtitles: bool = False) -> str:
    """The text with its codes, and difficult characters at its ends."""
    if segment.markup and segment.codes is None and not subtitles:  # tags in it are tags
        written = NASTY.replace("< </w>", "&lt; <i>w</i>")
        return f"{written}{segment.text}{written}"
    if segment.codes is None:
        return f"{NASTY}{segment.text} {segment.text} {segment.text}{NASTY}"
    written = NASTY.replace("&", "&amp;").replace("<", "&lt;")
    return f"{written}{segment.text}{written}"


def own_text(segment: Segment) -> NewText:
    return NewText(segment.current, doubtful=segment.state == "fuzzy")


def check(format: str, content: bytes) -> tuple[Counter[str], list[str]]:
    """What holds for one file, and what does not."""
    document = read(format, content)
    segments = document.segments
    found = Counter({
        "read": 1,
        "segments": len(segments),
        "with codes": sum(each.codes is not None for each in segments),
        "characters": sum(len(each.text) for each in segments),
    })  # fmt: skip
    failures = []
    if document.write([own_text(each) for each in segments]) == content:
        found["identity"] += 1
    else:
        failures.append("identity")
    new = [document.storable(longer(each, subtitles=format in ("srt", "vtt"))) for each in segments]
    texts = [NewText(text, doubtful=each.state == "fuzzy") for text, each in zip(new, segments, strict=True)]
    written = document.write(texts)
    again = read(format, written)
    if document.compare is None:
        differences = list(differences_in(segments, again.segments, new))
    else:
        differences = ["exact"] if document.compare(written, texts) else []
    failures += differences[:1]
    found["exact"] += not differences
    if outside_is_equal(format, document, again):
        found["outside"] += 1
    else:
        failures.append("outside")
    return found, failures


def differences_in(
    segments: tuple[Segment, ...], again: tuple[Segment, ...], new: list[str]
) -> Iterator[str]:
    if len(segments) != len(again):
        yield f"exact: {len(again)} segments instead of {len(segments)}"
        return
    for old, made, text in zip(segments, again, new, strict=True):
        wanted, found = old.essence(text), made.essence(made.current)
        if wanted != found:
            equal = takewhile(lambda both: both[0] == both[1], zip(wanted, found, strict=False))
            place = sum(1 for _ in equal)
            shown = slice(max(0, place - 40), place + 80)
            yield f"exact: {made.key}: at {place}, {wanted[shown]!r} became {found[shown]!r}"


def outside_is_equal(format: str, document: Document, again: Document) -> bool:
    """Whether the files differ only in their texts, and in what the format says about them."""
    follows = FOLLOWS.get(format)
    if follows is not None:
        return follows.sub("", decoded(document.content)) == follows.sub("", decoded(again.content))
    place = 0
    pieces = outside_of(document)
    for piece in pieces:
        place = again.content.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return again.content.startswith(pieces[0]) and again.content.endswith(pieces[-1])


def decoded(content: bytes) -> str:
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if utf16 else "latin-1")


def outside_of(document: Document) -> list[bytes]:
    """What is between the texts. A text, such as an attribute, may stand inside another."""
    found, last = [], 0
    for each in document.segments:
        if each.start >= last:
            found.append(document.content[last : each.start])
        last = max(last, each.end)
    return [*found, document.content[last:]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", help="only files of this format")
    options = parser.parse_args()
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(each for each in options.folder.rglob("*") if each.is_file()):
        format = extension_of(path.name)
        if format not in {*CATALOGS, *FORMATS} or (options.format and format != options.format):
            continue
        totals[format]["files"] += 1
        try:
            found, failures = check(format, path.read_bytes())
        except DataError as error:
            print(f"{path}: not read: {error}", file=sys.stderr)
            continue
        totals[format] += found
        for failure in failures:
            print(f"{path}: {failure[:600]}", file=sys.stderr)
    print("| format |", " | ".join(COLUMNS), "|")
    print("|---|", " | ".join("---:" for _ in COLUMNS), "|")
    for format, counts in sorted(totals.items()):
        print(f"| .{format} |", " | ".join(f"{counts[column]:,}" for column in COLUMNS), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
