"""XML as a tree whose nodes know their bytes in the file. Nothing is loaded, expanded or guessed.

`subtrees` reads a file in portions and yields the elements that a reader asks for, so that only one of them is in memory.
"""

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal
from xml.parsers import expat

from qkv.documents.encodings import MARKS
from qkv.errors import DataError

PORTION = 65_536  # bytes
MOST_DEPTH = 250
MOST_NODES = 1_000_000  # of one subtree
LONGEST_ENTITY = 1_000  # characters; a longer one is an attack
UTF_16 = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


@dataclass(slots=True)
class Text:
    """Characters, a CDATA section, or what is neither: a comment, an instruction, an entity of the file's own."""

    kind: Literal["text", "cdata", "other"]
    text: str
    """Characters as a program reads them; what is neither, as it is in the file."""
    start: int
    end: int = -1


@dataclass(slots=True, eq=False)
class Node:
    """An element. Its content is from `inside` to `behind`; an empty tag has none."""

    name: str
    """Without a namespace prefix."""
    tag: str
    """As it is in the file."""
    attributes: dict[str, str]
    parent: "Node | None"
    start: int
    inside: int = -1
    behind: int = -1
    end: int = -1
    children: "list[Node | Text]" = field(default_factory=list)

    def get(self, name: str) -> str | None:
        """An attribute, whatever its prefix is."""
        found = self.attributes.get(name)
        if found is not None:
            return found
        return next((value for key, value in self.attributes.items() if key.endswith(f":{name}")), None)

    @property
    def elements(self) -> "list[Node]":
        return [each for each in self.children if isinstance(each, Node)]

    def child(self, name: str) -> "Node | None":
        return next((each for each in self.elements if each.name == name), None)

    def walk(self) -> "Iterator[Node]":
        """This element and all inside it, in the order of the file."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.elements)

    @property
    def ancestors(self) -> "Iterator[Node]":
        """This element and those around it."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def inherited(self, name: str) -> str | None:
        """An attribute of this element, or of the nearest one around it that has it."""
        return next((found for each in self.ancestors if (found := each.get(name)) is not None), None)

    @property
    def text(self) -> str:
        """All characters inside."""
        parts = []
        waiting: list[Node | Text] = [self]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Node):
                waiting += reversed(each.children)
            elif each.kind != "other":
                parts.append(each.text)
        return "".join(parts)


@dataclass
class Builder:
    """What the parser reports, as nodes. The end of one thing is known when the next begins."""

    wanted: Callable[[str], bool]
    position: Callable[[], int]
    ready: list[Node] = field(default_factory=list)
    open: Node | None = None
    inner: int = 0
    """How many of the open elements are inside a wanted one, including it."""
    depth: int = 0
    nodes: int = 0
    unfinished: Node | Text | None = None
    """Its end, or the end of its start tag, is where the next thing begins."""
    characters_of_text: list[str] = field(default_factory=list)
    """Of the unfinished text. The parser reports them in many small parts."""
    in_cdata: bool = False

    def finish(self) -> int:
        place = self.position()
        last, self.unfinished = self.unfinished, None
        if isinstance(last, Text):
            last.text, last.end = "".join(self.characters_of_text), place
        elif last is not None and last.inside < 0:
            last.inside = place
        elif last is not None:
            last.end = place
        return place

    def start_element(self, tag: str, attributes: dict[str, str]) -> None:
        place = self.finish()
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise DataError(f"more than {MOST_DEPTH} elements are nested at byte {place:,}.")
        name = tag.rpartition(":")[2]
        node = Node(name, tag, attributes, self.open, place)
        if self.inner:
            self.add(node)
        if self.inner or self.wanted(name):
            self.inner += 1
        self.open = self.unfinished = node

    def end_element(self, tag: str) -> None:
        node = self.open
        assert node is not None  # the parser reports pairs
        node.behind = self.finish()
        self.unfinished = node
        self.open = node.parent
        self.depth -= 1
        if self.inner:
            self.inner -= 1
            if not self.inner:
                self.ready.append(node)
                self.nodes = 0

    def characters(self, text: str) -> None:
        if self.continues("cdata" if self.in_cdata else "text"):
            self.characters_of_text.append(text)
        else:
            self.add_text(Text("text", text, self.finish()))

    def start_cdata(self) -> None:
        self.add_text(Text("cdata", "", self.finish()))
        self.in_cdata = True

    def end_cdata(self) -> None:
        self.in_cdata = False

    def other(self, text: str) -> None:
        if self.continues("other") and not text.startswith(("<", "&")):
            self.characters_of_text.append(text)
        else:
            self.add_text(Text("other", text, self.finish()))

    def continues(self, kind: str) -> bool:
        """Whether the unfinished text is of this kind."""
        return isinstance(self.unfinished, Text) and self.unfinished.kind == kind

    def add_text(self, text: Text) -> None:
        self.unfinished, self.characters_of_text = text, [text.text]
        if self.inner:
            self.add(text)

    def add(self, child: Node | Text) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise DataError(f"one element has more than {MOST_NODES:,} parts: the file is too large.")
        if self.open is not None:
            self.open.children.append(child)


def declared_entity(
    name: str, is_parameter: bool, value: str | None, base: str | None, system: str | None, *rest: str | None
) -> None:
    """Entities inside entities, and entities in other files, are the means of attacks."""
    if value is None or is_parameter or "&" in value or "%" in value or len(value) > LONGEST_ENTITY:
        raise DataError(f"the entity '{name[:40]}' of this file is not supported: replace it by its text.")


def subtrees(content: bytes, *wanted: str) -> Iterator[Node]:
    """The outermost elements of these names (without prefix), with all inside them. Elements around them have no children.

    Raises:
        DataError: It is not well-formed XML, or is nested too deeply, or has entities of its own that are not plain text.
    """
    names = frozenset(wanted)
    parser = expat.ParserCreate()
    builder = Builder(names.__contains__, lambda: parser.CurrentByteIndex)
    parser.StartElementHandler = builder.start_element
    parser.EndElementHandler = builder.end_element
    parser.CharacterDataHandler = builder.characters
    parser.StartCdataSectionHandler = builder.start_cdata
    parser.EndCdataSectionHandler = builder.end_cdata
    parser.DefaultHandler = builder.other
    parser.EntityDeclHandler = declared_entity
    for start in range(0, len(content) + 1, PORTION):
        portion = content[start : start + PORTION]
        try:
            parser.Parse(portion, start + PORTION > len(content))
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise DataError(f"it is not well-formed XML: {error}.") from None
        done, builder.ready = builder.ready, []
        if builder.unfinished in done:  # its end is not known yet
            builder.ready.append(done.pop())
        yield from done
    builder.unfinished = None
    for node in builder.ready:
        node.end = len(content) if node.end < 0 else node.end
        yield node


def encoding_of(content: bytes) -> str:
    """The character encoding of a well-formed XML file."""
    for mark, encoding in (*MARKS, *UTF_16.items()):
        if content.startswith(mark):
            return encoding
    found: list[str] = []
    parser = expat.ParserCreate()
    parser.XmlDeclHandler = lambda version, encoding, standalone: found.append(encoding or "")
    try:
        parser.Parse(content[:1_024], False)
    except (expat.ExpatError, ValueError, LookupError):
        return "utf-8"  # whoever reads the file reports it
    return codecs.lookup(found[0]).name if found and found[0] else "utf-8"


def check_root(content: bytes, *names: str) -> None:
    """Whether the file is in the format that its name promises.

    Raises:
        DataError: Its first element has another name, or there is none.
    """
    found: list[str] = []
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declared_entity
    parser.StartElementHandler = lambda tag, attributes: found.append(tag.rpartition(":")[2])
    for start in range(0, len(content) + 1, PORTION):
        try:
            parser.Parse(content[start : start + PORTION], start + PORTION > len(content))
        except (expat.ExpatError, ValueError, LookupError) as error:
            if not found:
                raise DataError(f"it is not well-formed XML: {error}.") from None
        if found:
            break
    if found and found[0] not in names:
        raise DataError(
            f"its root element is <{found[0][:40]}>, not <{names[0]}>: give the format of the file."
        )
