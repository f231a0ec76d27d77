"""OpenDocument texts (.odt): paragraphs and headings, also in tables, lists, notes, frames, headers and footers."""

from collections.abc import Iterator

from qkv.documents.archive import Archive
from qkv.documents.codes import Part
from qkv.documents.document import Document, Segment
from qkv.documents.office import document_of
from qkv.documents.xml_slots import Parts, XmlBytes, escape, segments_between
from qkv.documents.xml_tree import Node, Text, subtrees
from qkv.errors import DataError

MEDIA_TYPE = "application/vnd.oasis.opendocument.text"
MEMBERS = ("content.xml", "styles.xml")
MANIFEST = "META-INF/manifest.xml"
PARAGRAPHS = ("p", "h")
PAIRS = frozenset({"span", "a", "meta"})
NOT_SHOWN = frozenset({"tracked-changes", "deletion"})
NEUTRAL = ("language", "country", "rsid", "paragraph-rsid", "language-asian", "country-asian", "language-complex", "country-complex")  # fmt: skip
"""Properties that do not divide a text."""


def read_odt(content: bytes, target: str | None = None) -> Document:
    archive = Archive.of(content)
    if MANIFEST in archive.names and b"encryption-data" in archive.peek(MANIFEST):
        raise DataError("it is encrypted: save it without a password.")
    if MEMBERS[0] not in archive.names:
        raise DataError(f"it is not an OpenDocument file: it has no {MEMBERS[0]}.")
    names = [name for name in MEMBERS if name in archive.names]
    return document_of(archive, names, paragraphs, MEDIA_TYPE, read_odt)


def paragraphs(xml: XmlBytes) -> Iterator[Segment]:
    neutral = neutral_styles(xml)
    for outer in subtrees(xml.content, *PARAGRAPHS):
        if any(each.name in NOT_SHOWN for each in outer.ancestors):
            continue
        for node in outer.walk():
            if node.name in PARAGRAPHS:
                yield from segments_of(xml, node, neutral)


def neutral_styles(xml: XmlBytes) -> frozenset[str]:
    """Names of styles that say nothing but a language, or when a text was edited."""
    return frozenset(
        style.get("name") or ""
        for style in subtrees(xml.content, "style")
        if style.get("family") == "text" and all(is_neutral(each) for each in style.elements)
    )


def is_neutral(properties: Node) -> bool:
    names = (name.rpartition(":")[2] for name in properties.attributes)
    return not properties.children and all(name in NEUTRAL for name in names)


def segments_of(xml: XmlBytes, node: Node, neutral: frozenset[str]) -> Iterator[Segment]:
    yield from segments_between(
        xml, parts_in(xml, node, neutral), escape, lambda each: "span" in each.content
    )


def parts_in(xml: XmlBytes, node: Node, neutral: frozenset[str]) -> Parts:
    found: Parts = []
    for child in node.children:
        if isinstance(child, Text):
            found += (
                xml.text_parts(child)
                if child.kind == "text"
                else [xml.code("single", child.start, child.end)]
            )
        elif child.name in PAIRS and not xml.is_empty_tag(child):
            found += pair_parts(xml, child, neutral)
        elif any(each.name in PARAGRAPHS for each in child.walk()):  # a note, a comment or a text box
            found.append(None)
        else:
            found.append(xml.code("kept" if child.text.strip() else "single", child.start, child.end))
    return found


def pair_parts(xml: XmlBytes, node: Node, neutral: frozenset[str]) -> Parts:
    only = node.children[0] if len(node.children) == 1 else None
    if node.get("style-name") in neutral and isinstance(only, Text) and only.kind == "text":
        return [Part("text", only.text, node.start, node.end)]
    inner = parts_in(xml, node, neutral)
    if None in inner:
        return [None, *inner, None]
    return [
        xml.code("open", node.start, node.inside),
        *inner,
        xml.code("close", node.behind, node.end),
    ]
