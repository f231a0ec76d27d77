"""XHTML, which is XML: the texts between block elements."""

import re
from collections.abc import Iterator
from html import unescape

from qkv.documents.codes import Part
from qkv.documents.document import Segment
from qkv.documents.markup import UNTRANSLATED
from qkv.documents.xml_slots import Parts, XmlBytes, as_read, escape, segments_between
from qkv.documents.xml_tree import Node, Text, subtrees
from qkv.text.markup import BLOCKS

LINE_BREAK = re.compile(r"(?<!\s)\s*\n\s*")  # tried once in each run of white space
NOT_SHOWN = frozenset({"script", "style", "template"})
FORMATTING = re.compile(r"<(?:\w+:)?(?:b|i|em|strong|u|small|big|s|font)\b")


def xhtml_segments(xml: XmlBytes) -> Iterator[Segment]:
    for node in subtrees(xml.content, "title", "body"):
        parts = parts_in(xml, node)
        yield from segments_between(xml, parts, write, lambda part: bool(FORMATTING.match(part.content)))


def write(text: str) -> str:
    """A line break is written as a reference, because readers see a space in a real one."""
    return escape(text).replace("\n", "&#10;")


def parts_in(xml: XmlBytes, node: Node) -> Parts:
    found: Parts = []
    for child in node.children:
        if isinstance(child, Node):
            found += element_parts(xml, child)
        elif child.kind == "text":
            found += [joined_lines(xml, part) for part in xml.text_parts(child)]
        elif child.kind == "cdata":
            found.append(Part("text", child.text, child.start, child.end))
        else:
            found.append(other_part(xml, child))
    return found


def element_parts(xml: XmlBytes, node: Node) -> Parts:
    if node.name in NOT_SHOWN:
        return [None]
    if is_untranslated(node):
        return [xml.code("kept", node.start, node.end)] if node.name not in BLOCKS else [None]
    if xml.is_empty_tag(node):
        return [None] if node.name in BLOCKS else [xml.code("single", node.start, node.end)]
    inner = parts_in(xml, node)
    if node.name in BLOCKS or None in inner:
        return [None, *inner, None]
    opened = xml.code("open", node.start, node.inside)
    return [opened, *inner, xml.code("close", node.behind, node.end)]


def is_untranslated(node: Node) -> bool:
    return (
        node.name in UNTRANSLATED
        or node.get("translate") == "no"
        or "notranslate" in (node.get("class") or "").split()
    )


def joined_lines(xml: XmlBytes, part: Part) -> Part:
    """Where the text is broken into lines, readers see a space."""
    raw = xml.raw(part.start, part.end)
    return Part("text", as_read(LINE_BREAK.sub(" ", raw)), part.start, part.end)


def other_part(xml: XmlBytes, text: Text) -> Part:
    """An entity of HTML is a character; comments and instructions are codes."""
    character = unescape(text.text) if text.text.startswith("&") else text.text
    if character != text.text:
        return Part("text", character, text.start, text.end)
    return xml.code("kept" if text.text.startswith("&") else "single", text.start, text.end)
