"""The inline elements of XLIFF 1.2 and 2.x as parts of a text."""

import re
from collections.abc import Sequence
from dataclasses import replace

from qkv.documents.codes import Part
from qkv.documents.xml_slots import Content, XmlBytes
from qkv.documents.xml_tree import Node

PAIRS = frozenset({"g", "pc", "mrk"})
OPENING = {"bx": "rid", "bpt": "rid", "sc": "id", "sm": "id"}
"""Elements that begin a pair, and the attribute that its other half shares."""
CLOSING = {"ex": "rid", "ept": "rid", "ec": "startRef", "em": "startRef"}
ANGULAR = re.compile(r"(START|CLOSE)_(\w+?)(?:_\d+)?")
ANGULAR_WORD = re.compile(r"(?:INTERPOLATION|PH|ICU|VAR_\w+)(?:_\d+)?")
WORD = re.compile(r"[{%$]|^\w+$")
"""Native code that stands for a word, such as a placeholder. Other code is taken for formatting."""


class Inline:
    """The parts of one text. Halves of a pair are matched by their identifiers."""

    def __init__(self, xml: XmlBytes):
        self.xml = xml
        self.halves: dict[int, str] = {}  # by the start of the element

    def content(self, node: Node) -> Content:
        content = self.xml.content_parts(node, self.markup)
        return content._replace(parts=self.with_pairs(content.parts))

    def markup(self, node: Node) -> list[Part]:
        start, end = node.start, node.end
        if node.name in PAIRS:
            if node.get("mtype") == "protected" or node.get("translate") == "no":
                return [self.xml.code("kept", start, end)]
            return self.xml.pair(node, self.xml.parts(node, self.markup))
        kind, key = half_of(node)
        if key:
            self.halves[start] = key
        return [self.xml.code(kind, start, end)]

    def with_pairs(self, parts: Sequence[Part]) -> list[Part]:
        """Halves that are alone, or whose pair would cross another, become single codes."""
        found = list(parts)
        open_parts: list[tuple[int, str]] = []
        for place, part in enumerate(parts):
            key = self.halves.get(part.start, "") if part.kind in ("open", "close") else ""
            if part.kind == "open":
                open_parts.append((place, key))
            elif part.kind == "close" and open_parts and open_parts[-1][1] == key:
                open_parts.pop()
            elif (
                part.kind == "close" and not key
            ):  # an element that is well-formed: what is open in it is not closed in it
                while open_parts[-1][1]:
                    place_of_half, _ = open_parts.pop()
                    found[place_of_half] = replace(parts[place_of_half], kind="single")
                open_parts.pop()
            elif part.kind == "close":
                found[place] = replace(part, kind="single")
        for place, _ in open_parts:
            found[place] = replace(parts[place], kind="single")
        return found


def half_of(node: Node) -> tuple[str, str]:
    """What an empty element or one with native code is, and the key of its pair."""
    if node.name in OPENING and node.get("isolated") != "yes":
        return "open", f"{node.get(OPENING[node.name]) or node.get('id')}"
    if node.name in CLOSING and node.get("isolated") != "yes":
        return "close", f"{node.get(CLOSING[node.name]) or node.get('id')}"
    if node.name == "cp":
        return "single", ""
    name = node.get("id") or ""
    half = ANGULAR.fullmatch(name)
    if half:
        return ("open" if half[1] == "START" else "close"), half[2]
    if ANGULAR_WORD.fullmatch(name):
        return "kept", ""
    native = node.get("equiv-text") or node.get("equiv") or node.get("disp") or node.text
    is_word = (
        "<" not in native and not (node.get("ctype") or "").endswith(("lb", "pb")) and WORD.search(native)
    )
    return ("kept" if is_word else "single"), ""
