"""A source and its target in files that have both: the target gets the codes and the white space of its source."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from qkv.documents.codes import Coded, Part, coded, escaped, joined_empty_pairs, matched
from qkv.documents.xml_slots import Content, XmlBytes, as_read
from qkv.documents.xml_tree import Node


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A source element, and the element of its target if there is one."""

    xml: XmlBytes
    read: Callable[[Node], Content]
    source: Node
    target: Node | None
    content: Content
    coded: Coded

    @classmethod
    def of(
        cls, xml: XmlBytes, read: Callable[[Node], Content], source: Node, target: Node | None
    ) -> "Pair | None":
        """None if the source has no text."""
        content = read(source)
        found = coded(content.parts)
        if found is None or not any(part.kind == "text" and part.content.strip() for part in found.parts):
            return None
        return cls(xml=xml, read=read, source=source, target=target, content=content, coded=found)

    @property
    def lead(self) -> str:
        """Codes and white space before the text."""
        return self.xml.raw(self.source.inside, self.coded.start)

    @property
    def tail(self) -> str:
        return self.xml.raw(self.coded.end, self.source.behind)

    def written(self, text: str) -> str:
        """A translation as the content of the target."""
        escape, codes = self.content.escape, self.coded.codes
        words = codes.restore(text, escape) if codes else escape(text)
        return f"{self.lead}{words}{self.tail}"

    @property
    def current(self) -> str:
        """The target as it is, with the names of its source's codes."""
        target, lead, tail = self.target, self.lead, self.tail
        if target is None:
            return ""
        parts = self.read(target).parts
        raw = self.xml.raw(target.inside, target.behind)
        if len(raw) > len(lead) + len(tail) and raw.startswith(lead) and raw.endswith(tail):
            first, last = target.inside + self.xml.size(lead), target.behind - self.xml.size(tail)
            parts = [clipped for part in parts if (clipped := self.clipped(part, first, last))]
        if self.coded.codes is None and all(part.kind == "text" for part in parts):
            return "".join(part.content for part in parts)
        return "".join(named(joined_empty_pairs(matched(parts)), self.coded))

    def clipped(self, part: Part, first: int, last: int) -> Part | None:
        """The part between two places. Only text is ever cut."""
        start, end = max(part.start, first), min(part.end, last)
        if start >= end:
            return None
        if (start, end) == (part.start, part.end):
            return part
        return Part("text", as_read(self.xml.raw(start, end)), start, end)


def named(parts: Sequence[Part], source: Coded) -> Iterator[str]:
    """Codes that the source does not have are numbered behind those of the source."""
    names: dict[str, list[str]] = {}
    for part, name in zip(source.parts, source.names, strict=True):
        if name and part.kind != "close":
            names.setdefault(part.content, []).append(name)
    open_names: list[str] = []
    for number, part in enumerate(parts, len(source.parts) + 1):
        if part.kind == "text":
            yield escaped(part.content)
        elif part.kind == "close" and open_names:
            yield f"</{open_names.pop()[1:]}"
        else:
            known = names.get(part.content)
            name = known.pop(0) if known else f"<g{number}>" if part.kind == "open" else f"<x{number}/>"
            if part.kind == "open":
                open_names.append(name)
            yield name
