"""Spreadsheets (.xlsx): texts of cells, comments and text boxes. What formulas and tables refer to stays."""

import re
from collections.abc import Iterator
from dataclasses import replace

from qkv.documents.archive import Archive
from qkv.documents.document import Document, Segment
from qkv.documents.office import document_of, paragraphs, parts_of
from qkv.documents.runs import paragraph_segments
from qkv.documents.xml_slots import XmlBytes
from qkv.documents.xml_tree import subtrees

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARTS = ("sharedStrings", "worksheet", "comments")
LITERAL = re.compile(r'"((?:[^"]|"")*)"')
FORMULAS = ("f", "formula", "formula1", "formula2", "definedName", "calculatedColumnFormula")
NAMED = {"tableColumn": "name", "cacheField": "name", "s": "v", "filter": "val", "customFilter": "val"}
"""Elements that refer to a cell by its text, and the attribute with the text."""
HELD = "a formula, a table or a filter refers to it"


def read_xlsx(content: bytes, target: str | None = None) -> Document:
    archive = Archive.of(content)
    names = parts_of(archive, "spreadsheetml", PARTS)
    cells = [name for name in names if "sheet" not in name or b"inlineStr" in archive.peek(name)]
    drawings = [name for name in archive.names if re.fullmatch(r"xl/drawings/drawing\d+\.xml", name)]
    used = texts_in_use(archive)

    def read(xml: XmlBytes) -> Iterator[Segment]:
        for node in subtrees(xml.content, "si", "is", "text"):
            for segment in paragraph_segments(xml, node):
                yield replace(segment, held=HELD) if segment.text in used else segment
        if b"drawingml" in xml.content[:2_000]:
            yield from paragraphs(xml)

    return document_of(archive, [*cells, *drawings], read, MEDIA_TYPE, read_xlsx)


def texts_in_use(archive: Archive) -> set[str]:
    """Texts that formulas compare with, names of columns, and values of filters and pivot tables."""
    found: set[str] = set()
    for name in archive.names:
        if not re.match(
            r"xl/(?:worksheets/[^/]+|workbook|tables/[^/]+|pivotCache/[^/]*Definition[^/]*)\.xml", name
        ):
            continue
        own = [element for element in NAMED if element != "s" or "pivotCache" in name]
        for node in subtrees(archive.peek(name), *FORMULAS, *own):
            if node.name in NAMED:
                found.add(node.get(NAMED[node.name]) or "")
            else:
                found.update(each.replace('""', '"') for each in LITERAL.findall(node.text))
    return found
