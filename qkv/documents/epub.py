"""Electronic books (.epub): the chapters, their table of contents, and the language of the book."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from qkv.documents.archive import Archive
from qkv.documents.codes import coded
from qkv.documents.document import Document, Edit, NewTexts, Segment, are_changed
from qkv.documents.office import document_of
from qkv.documents.xhtml import xhtml_segments
from qkv.documents.xml_slots import XmlBytes, escape, segment_of
from qkv.documents.xml_tree import Node, encoding_of, subtrees
from qkv.errors import DataError

MEDIA_TYPE = "application/epub+zip"
CONTAINER, ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
XHTML, NCX = "application/xhtml+xml", "application/x-dtbncx+xml"


def read_epub(content: bytes, target: str | None = None) -> Document:
    archive = Archive.of(content)
    package = package_name(archive)
    items = [*subtrees(archive.peek(package), "item")]
    found = {kind: list(members_of(archive, package, items, kind)) for kind in (XHTML, NCX)}
    check_protection(archive, found[XHTML])
    member = archive.read(package)
    xml = XmlBytes(member.content, encoding_of(member.content))
    stated = (each for each in subtrees(xml.content, "language") if not xml.is_empty_tag(each))
    language = next(stated, None)

    document = document_of(archive, [*found[XHTML], *found[NCX]], texts_of, MEDIA_TYPE, read_epub)

    def marks(new: NewTexts) -> Iterator[Edit]:
        if target and language and language.text != target and are_changed(document.segments, new):
            place = language.inside + member.base, language.behind + member.base
            yield Edit(*place, xml.encode(escape(target)))

    return replace(document, marks=marks, source_language=language.text if language else None)


def texts_of(xml: XmlBytes) -> Iterator[Segment]:
    """A chapter, or a table of contents in the format of EPUB 2."""
    yield from labels(xml)
    yield from xhtml_segments(xml)


def package_name(archive: Archive) -> str:
    """The member that lists the others."""
    if CONTAINER not in archive.names:
        raise DataError(f"it is not a book: it has no {CONTAINER}.")
    root = next(subtrees(archive.peek(CONTAINER), "rootfile"), None)
    return unquote((root and root.get("full-path")) or "")


def members_of(archive: Archive, package: str, items: Iterable[Node], kind: str) -> Iterator[str]:
    known = set(archive.names)
    for item in items:
        name = normpath(join(dirname(package), unquote(item.get("href") or "")))
        if item.get("media-type") == kind and name in known:
            yield name


def check_protection(archive: Archive, names: Iterable[str]) -> None:
    """Encrypted fonts are usual, encrypted chapters cannot be read."""
    if ENCRYPTION not in archive.names:
        return
    encrypted = {
        unquote(each.get("URI") or "") for each in subtrees(archive.peek(ENCRYPTION), "CipherReference")
    }
    if encrypted & set(names):
        raise DataError("its chapters are encrypted.")


def labels(xml: XmlBytes) -> Iterator[Segment]:
    for label in subtrees(xml.content, "navLabel", "docTitle"):
        node = label.child("text")
        if node is None:
            continue
        content = xml.content_parts(node, lambda each: [xml.code("single", each.start, each.end)])
        found = coded(content.parts)
        if found is not None and found.has_letters and found.codes is None:
            yield segment_of(xml, found, content.escape)
