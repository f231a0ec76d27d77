"""What readers of XML formats share: texts to and from bytes, attributes of a tag, and parts of a paragraph."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from qkv.documents.codes import Coded, Part, coded
from qkv.documents.document import Edit, Segment
from qkv.documents.xml_tree import Node, Text

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML file can have, not even as a reference."""
CDATA_START, CDATA_END = "<![CDATA[", "]]>"
LINE_BEFORE = re.compile(r"\r?\n[ \t]*\Z")
LONGEST_LINE = 800  # bytes of indentation
WHITE = " \t\r\n"
REFERENCE = re.compile(r"&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(lt|gt|amp|quot|apos));")
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
TAG_END = re.compile(r"(?<!\s)\s*/?>\Z")
ATTRIBUTE = r"(?<!\s)\s+{}\s*=\s*(\"[^\"]*\"|'[^']*')"


def escape(text: str) -> str:
    """Characters of a text node."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\r", "&#13;")


def escape_edges(text: str) -> str:
    """White space at the edges as references, so that it belongs to the text."""
    inner = text.strip()
    if inner == text or not inner:
        return text
    start, end = text.index(inner[0]), len(text.rstrip())
    return references(text[:start]) + text[start:end] + references(text[end:])


def references(text: str) -> str:
    return "".join(f"&#{ord(character)};" for character in text)


def escape_attribute(text: str) -> str:
    """Characters between double quotes."""
    escaped = escape(text).replace('"', "&quot;")
    return escaped.replace("\n", "&#10;").replace("\t", "&#9;")


def cdata(text: str) -> str:
    """Characters inside a CDATA section that is already open."""
    return text.replace("]]>", "]]]]><![CDATA[>")


@dataclass(frozen=True)
class XmlBytes:
    """The bytes of a file and their encoding."""

    content: bytes
    encoding: str

    def encode(self, text: str) -> bytes:
        return text.encode(self.encoding, errors="xmlcharrefreplace")

    def raw(self, start: int, end: int) -> str:
        """The file as it is, without anything expanded."""
        return self.content[start:end].decode(self.encoding)

    def size(self, text: str) -> int:
        return len(text.encode(self.encoding))

    def start_tag(self, node: Node) -> str:
        return self.raw(node.start, node.inside)

    def is_empty_tag(self, node: Node) -> bool:
        return node.inside == node.end

    def with_attributes(self, tag: str, values: Mapping[str, str | None]) -> str:
        """A start tag with these attributes. None removes one."""
        for name, value in values.items():
            found = re.search(ATTRIBUTE.format(re.escape(name)), tag)
            new = "" if value is None else f' {name}="{escape_attribute(value)}"'
            if found:
                old = found[0] if value is not None and found[1][1:-1] == escape_attribute(value) else new
                tag = tag[: found.start()] + old + tag[found.end() :]
            elif new:
                end = TAG_END.search(tag)
                place = end.start() if end else len(tag)
                tag = tag[:place] + new + tag[place:]
        return tag

    def attribute_edits(self, node: Node, values: Mapping[str, str | None]) -> Iterator[Edit]:
        """What changes the attributes of an element."""
        old = self.start_tag(node)
        new = self.with_attributes(old, values)
        if new != old:
            yield Edit(node.start, node.inside, self.encode(new))

    def text_parts(self, text: Text) -> Iterator[Part]:
        """A text without escapes at its edges is divided, so that white space around a paragraph can stay outside."""
        raw = self.raw(text.start, text.end)
        lead = raw[: len(raw) - len(raw.lstrip())]
        tail = raw[len(raw.rstrip()) :] if len(lead) < len(raw) else ""
        words = text.text[len(as_read(lead)) : len(text.text) - len(as_read(tail))]
        start, end = text.start + self.size(lead), text.end - self.size(tail)
        if lead:
            yield Part("text", as_read(lead), text.start, start)
        if words:
            yield Part("text", words, start, end)
        if tail:
            yield Part("text", as_read(tail), end, text.end)

    def code(self, kind: str, start: int, end: int) -> Part:
        return Part(kind, self.raw(start, end), start, end)  # type: ignore[arg-type]

    def pair(self, node: Node, inner: Sequence[Part]) -> list[Part]:
        """An element around parts of the paragraph. An empty tag is a single code."""
        if self.is_empty_tag(node):
            return [self.code("single", node.start, node.end)]
        return [
            self.code("open", node.start, node.inside),
            *inner,
            self.code("close", node.behind, node.end),
        ]

    def line_before(self, node: Node) -> str:
        """The line break and the indentation before an element."""
        before = self.content[max(0, node.start - LONGEST_LINE) : node.start]
        found = LINE_BEFORE.search(before.decode(self.encoding, errors="ignore"))
        return found[0] if found else ""

    def content_parts(self, node: Node, markup: Callable[[Node], list[Part]]) -> "Content":
        """What is inside an element. `markup` says what the elements in it are."""
        visible = [each for each in node.children if not is_blank(each)]
        sections = [each for each in visible if isinstance(each, Text) and each.kind == "cdata"]
        has_all = self.encoding.startswith("utf")  # a section cannot have references to characters
        if sections and has_all and len(sections) == len(visible) and are_adjacent(sections):
            start, end = sections[0].start + self.size(CDATA_START), sections[-1].end - self.size(CDATA_END)
            return Content([Part("text", "".join(each.text for each in sections), start, end)], cdata)
        return Content(self.parts(node, markup), escape)

    def parts(self, node: Node, markup: Callable[[Node], list[Part]]) -> list[Part]:
        found: list[Part] = []
        for each in node.children:
            if isinstance(each, Node):
                found += markup(each)
            elif each.kind == "text":
                found += self.text_parts(each)
            elif each.kind == "cdata":
                found.append(Part("text", each.text, each.start, each.end))
            else:
                found.append(
                    self.code("kept" if each.text.startswith("&") else "single", each.start, each.end)
                )
        return found


Parts = list[Part | None]
"""None where a text cannot continue."""


def segments_between(
    xml: XmlBytes, parts: Parts, write: Callable[[str], str], formatting: Callable[[Part], bool]
) -> Iterator[Segment]:
    """The texts of a mixed content. White space at their edges is written so that it belongs to them."""
    current: list[Part] = []
    for part in [*parts, None]:
        if part is not None:
            current.append(part)
            continue
        found = coded(current, formatting)
        current = []
        if found is not None and found.has_letters:
            yield segment_of(xml, found, write)


def segment_of(xml: XmlBytes, found: Coded, write: Callable[[str], str]) -> Segment:
    codes = found.codes
    return Segment(
        text=found.text,
        start=found.start,
        end=found.end,
        encode=lambda text: xml.encode(escape_edges(codes.restore(text, write) if codes else write(text))),
        markup=codes is not None,
        codes=codes,
    )


class Content(NamedTuple):
    """The parts of a text, and how characters are written in it."""

    parts: list[Part]
    escape: Callable[[str], str]


def are_adjacent(texts: Sequence[Text]) -> bool:
    return all(one.end == other.start for one, other in pairwise(texts))


def is_blank(child: Node | Text) -> bool:
    return isinstance(child, Text) and child.kind == "text" and not child.text.strip(WHITE)


def as_read(raw: str) -> str:
    """Text without markup as a parser reports it."""
    lines = raw.replace("\r\n", "\n").replace("\r", "\n")
    return REFERENCE.sub(character, lines)


def character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    return NAMED[name] if name else chr(int(decimal) if decimal else int(hexadecimal, 16))
