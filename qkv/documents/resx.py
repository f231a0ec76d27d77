"""Strings of .NET (.resx): the values of data elements without a type. The file holds one language."""

from collections.abc import Iterator
from dataclasses import replace

from qkv.documents.codes import Part, coded
from qkv.documents.document import Document, Segment
from qkv.documents.reading_back import compared_by
from qkv.documents.xml_slots import ILLEGAL, XmlBytes, segment_of
from qkv.documents.xml_tree import Node, check_root, encoding_of, subtrees

OF_THE_DESIGNER = ">>"
"""How names begin that are not text, but properties of a form."""


def read_resx(content: bytes, target: str | None = None) -> Document:
    check_root(content, "root")
    xml = XmlBytes(content, encoding_of(content))
    segments = [segment for node in subtrees(content, "data") for segment in segments_of(xml, node)]
    return Document(
        content=content,
        segments=tuple(segments),
        media_type="application/xml",
        forbidden=ILLEGAL,
        compare=compared_by(read_resx, segments),
    )


def segments_of(xml: XmlBytes, node: Node) -> Iterator[Segment]:
    name, value = node.get("name") or "", node.child("value")
    if value is None or node.get("type") or node.get("mimetype") or name.startswith(OF_THE_DESIGNER):
        return

    def kept(each: Node) -> list[Part]:
        return [xml.code("kept", each.start, each.end)]

    content = xml.content_parts(value, kept)
    found = coded(content.parts)
    if found is None or not found.has_letters:
        return
    segment = segment_of(xml, found, content.escape)
    yield replace(segment, key=name, dialect="python-brace-format")  # {0:N2}, and {{ for a brace, as in .NET
