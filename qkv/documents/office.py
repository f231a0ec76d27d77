"""Word documents and presentations (.docx, .pptx): paragraphs with text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from qkv.documents.archive import Archive
from qkv.documents.document import Document, Segment
from qkv.documents.reading_back import compared_by
from qkv.documents.runs import paragraph_segments
from qkv.documents.xml_slots import ILLEGAL, XmlBytes
from qkv.documents.xml_tree import encoding_of, subtrees
from qkv.errors import DataError

CONTENT_TYPES = "[Content_Types].xml"
MEDIA_TYPES = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
DOCX_PARTS = ("document.main", "header", "footer", "footnotes", "endnotes", "comments")
PPTX_PARTS = ("slide", "notesSlide", "comments")
Reader = Callable[[XmlBytes], Iterator[Segment]]


def read_docx(content: bytes, target: str | None = None) -> Document:
    archive = Archive.of(content)
    names = parts_of(archive, "wordprocessingml", DOCX_PARTS)
    return document_of(archive, names, paragraphs, MEDIA_TYPES["docx"], read_docx)


def read_pptx(content: bytes, target: str | None = None) -> Document:
    archive = Archive.of(content)
    names = parts_of(archive, "presentationml", PPTX_PARTS)
    return document_of(archive, names, paragraphs, MEDIA_TYPES["pptx"], read_pptx)


def parts_of(archive: Archive, family: str, kinds: Sequence[str]) -> list[str]:
    """The members of these kinds in the order of the list of content types."""
    if CONTENT_TYPES not in archive.names:
        raise DataError(f"it is not an Office file: it has no {CONTENT_TYPES}.")
    known = set(archive.names)
    types = archive.peek(CONTENT_TYPES)
    found = []
    for node in subtrees(types, "Override"):
        kind = (node.get("ContentType") or "").rpartition(f"{family}.")[2].removesuffix("+xml")
        name = (node.get("PartName") or "").lstrip("/")
        if name in known and (kind in kinds or (kind.endswith("main") and "document.main" in kinds)):
            found.append(name)
    return sorted(dict.fromkeys(found), key=reading_order)


def reading_order(name: str) -> tuple[bool, int, str]:
    """The main text first, and slide 2 before slide 10."""
    return "document" not in name, len(name), name


def paragraphs(xml: XmlBytes) -> Iterator[Segment]:
    for node in subtrees(xml.content, "p"):
        for paragraph in node.walk():
            if paragraph.name == "p":
                yield from paragraph_segments(xml, paragraph)


def document_of(
    archive: Archive,
    names: Sequence[str],
    read: Reader,
    media_type: str,
    again: Callable[[bytes], Document],
) -> Document:
    """The segments of these members, in this order. `again` is the reader of the format."""
    segments = [segment for name in dict.fromkeys(names) for segment in member_segments(archive, name, read)]
    return Document(
        compare=compared_by(again, segments),
        content=archive.joined,
        segments=tuple(segments),
        media_type=media_type,
        forbidden=ILLEGAL,
        splice=lambda joined, edits: archive.splice(edits),
    )


def member_segments(archive: Archive, name: str, read: Reader) -> Iterator[Segment]:
    """The segments of one member, at their places in the joined bytes."""
    member = archive.read(name)
    xml = XmlBytes(member.content, encoding_of(member.content))
    try:
        found = sorted(read(xml), key=lambda segment: segment.start)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    for number, segment in enumerate(found, 1):
        yield replace(
            segment,
            start=segment.start + member.base,
            end=segment.end + member.base,
            key=segment.key or f"{name}#{number}",
        )
