"""Android's strings.xml: strings, arrays and plurals. The file holds one language."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from qkv.documents.codes import Part, coded
from qkv.documents.document import Document, Segment
from qkv.documents.plural_forms import Numbers, usual_categories
from qkv.documents.reading_back import compared_by
from qkv.documents.xml_slots import ILLEGAL, Content, XmlBytes, cdata
from qkv.documents.xml_slots import escape as xml_escape
from qkv.documents.xml_slots import segment_of as slot_of
from qkv.documents.xml_tree import Node, check_root, encoding_of, subtrees

ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(.))|(")|([ \t\r\n]+)', re.DOTALL)
SHORT = {"n": "\n", "t": "\t"}
REFERENCE = re.compile(r"\s*[@?](?:[\w.]+:)?\+?\w+/[\w.]+\s*|\s*@(?:null|empty)\s*")
"""The name of another resource."""
EDGE_SPACE = re.compile(r"\A[ ]|[ ]\Z|(?<=[ ])[ ]")
SPECIAL = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t"}
NAMES = ("string", "string-array", "plurals")
SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def read_android(content: bytes, target: str | None = None) -> Document:
    check_root(content, "resources")
    xml = XmlBytes(content, encoding_of(content))
    segments: list[Segment] = []
    for node in subtrees(content, *NAMES):
        if node.get("translatable") == "false" or node.inherited("translatable") == "false":
            continue
        name = node.get("name") or ""
        if node.name == "string":
            segments += segment_of(xml, node, name)
        elif node.name == "plurals":
            segments += plural_segments(xml, node, name, target)
        else:
            for number, item in enumerate(node.elements):
                segments += segment_of(xml, item, f"{name}[{number}]")
    return Document(
        content=content,
        segments=tuple(segments),
        media_type="application/xml",
        forbidden=ILLEGAL,
        compare=compared_by(lambda written: read_android(written, target), segments),
    )


def segment_of(xml: XmlBytes, node: Node, key: str, plural: str = "") -> Iterator[Segment]:
    if REFERENCE.fullmatch(node.text):
        return
    content = decoded(xml.content_parts(node, lambda each: markup(xml, each)))
    found = coded(content.parts)
    if found is None or not found.has_letters:
        return
    segment = slot_of(xml, found, content.escape)
    yield replace(segment, key=key, dialect="c-format", plural=plural)


def markup(xml: XmlBytes, node: Node) -> list[Part]:
    """Elements such as <b> are pairs; <xliff:g> is a word that stays."""
    if node.tag.startswith("xliff:") or node.get("translatable") == "false":
        return [xml.code("kept", node.start, node.end)]
    return xml.pair(node, xml.parts(node, lambda each: markup(xml, each)))


def plural_segments(xml: XmlBytes, node: Node, name: str, target: str | None) -> Iterator[Segment]:
    """An item for each quantity, and new ones for those that only the target language has."""
    categories = usual_categories(target) if target else {}
    items = {item.get("quantity") or "": item for item in node.elements if item.name == "item"}
    for quantity, item in items.items():
        for segment in segment_of(xml, item, name, quantity):
            yield replace(segment, numbers=categories.get(quantity, ()))
    if "other" not in items:
        return
    last = list(items.values())[-1]
    for segment in segment_of(xml, items["other"], name):
        for quantity, numbers in categories.items():
            if quantity not in items:
                yield inserted(xml, segment, items["other"], last, quantity, numbers)


def inserted(
    xml: XmlBytes, segment: Segment, other: Node, last: Node, quantity: str, numbers: Numbers
) -> Segment:
    tag = xml.with_attributes(xml.start_tag(other), {"quantity": quantity})
    before = f"{xml.line_before(last)}{tag}"
    return replace(
        segment,
        start=last.end,
        end=last.end,
        encode=lambda text: xml.encode(before) + segment.encode(text) + xml.encode(f"</{other.tag}>"),
        target="",
        plural=quantity,
        numbers=numbers,
        is_ambiguous=True,
    )


# Escapes ---------------------------------------------------------------------------------------------


def decoded(content: Content) -> Content:
    """The parts as a person reads them: without escapes, and with white space as Android shows it."""
    quotes = Quotes()
    parts = [
        replace(part, content=quotes.read(part.content)) if part.kind == "text" else part
        for part in content.parts
    ]
    inner = content.escape
    return Content(parts, lambda text: escape(text, cdata if inner is cdata else xml_escape))


@dataclass
class Quotes:
    """White space counts between double quotes, which may begin in one part and end in another."""

    are_open: bool = False

    def read(self, text: str) -> str:
        parts, last = [], 0
        for match in ESCAPE.finditer(text):
            parts += [text[last : match.start()], self.character(match)]
            last = match.end()
        read = "".join([*parts, text[last:]])
        return SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), read)

    def character(self, match: re.Match[str]) -> str:
        code, escaped, quote, space = match.groups()
        if code:
            return chr(int(code, 16))
        if escaped:
            return SHORT.get(escaped, escaped)
        if quote:
            self.are_open = not self.are_open
            return ""
        return space if self.are_open else " "


def escape(text: str, write: Callable[[str], str] = xml_escape) -> str:
    """Characters outside quotes."""
    special = "".join(SPECIAL.get(character, character) for character in text)
    special = EDGE_SPACE.sub(r"\\u0020", special)
    if special.startswith(("@", "?")):
        special = f"\\{special}"
    return write(special)
