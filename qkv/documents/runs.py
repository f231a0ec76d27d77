"""Paragraphs of runs, as Office files have them: each run is a piece of text with properties.

Runs whose properties differ only in language, proofing and spacing are one text. The most usual properties need no code; text with
others is a pair that a translation may lose without damage. What is not text becomes a code that brings its own run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from qkv.documents.codes import Coded, Part, coded
from qkv.documents.document import Segment
from qkv.documents.xml_slots import XmlBytes, escape
from qkv.documents.xml_tree import Node

NO_STYLE = ""
NOT_IN_STYLE = frozenset({"lang", "noProof", "proofErr", "spacing", "kern", "rPrChange", "ins", "del"})
"""Properties that do not divide a text."""
NOT_WRITTEN = frozenset({"lang", "noProof", "proofErr", "rPrChange", "ins", "del"})
NOT_IN_TAG = frozenset(
    {"lang", "altLang", "dirty", "err", "noProof", "smtClean", "smtId", "kern", "spc", "bmk"}
)
"""The same as attributes, in presentations."""
NO_TEXT = frozenset({"pPr", "rPr", "endParaRPr", "rPh", "phoneticPr", "proofErr", "lastRenderedPageBreak"})
CONTAINERS = frozenset({"hyperlink", "smartTag", "sdt", "customXml", "ins", "moveTo", "dir", "bdo"})
KEPT = frozenset(
    {
        "oMath",
        "oMathPara",
        "fldSimple",
        "fld",
        "AlternateContent",
        "drawing",
        "pict",
        "object",
        "sym",
        "pgNum",
        "ruby",
        "m",
    }
)
"""What stands for a word."""
HYPHEN = "\u2011"  # w:noBreakHyphen
FIELDS_WITH_TEXT = frozenset({"HYPERLINK", "TOC", "FORMTEXT", "QUOTE", "IF", "MACROBUTTON", "INDEX", "XE"})
"""Fields whose result is text of the author. That of others is computed, such as a page number."""

Kind = Literal["text", "open", "close", "single", "kept", "barrier", "field", "instruction"]


class Item(NamedTuple):
    """Part of a paragraph: text, or the raw bytes of something else."""

    kind: Kind
    content: str
    start: int
    end: int
    style: str = NO_STYLE
    """Of a text: the properties that count. Of a field: what it is, or its instruction."""
    opened: str = ""
    """What opens a run like the one that it is in."""
    closed: str = ""
    tag: str = ""
    """Of a text: the name of its element."""
    is_inner: bool = False
    """Whether other parts of its run stand before it."""
    is_followed: bool = False
    """Whether other parts of its run stand behind it."""


def paragraph_segments(xml: XmlBytes, paragraph: Node) -> Iterator[Segment]:
    """The texts of a paragraph: several if it has a text box or another paragraph in its middle."""
    items = with_fields(list(items_of(xml, paragraph)))
    current: list[Item] = []
    for item in [*items, Item("barrier", "", paragraph.end, paragraph.end)]:
        if item.kind != "barrier":
            current.append(item)
            continue
        yield from segments_of(xml, current)
        current = []


def holds_paragraph(node: Node) -> bool:
    return any(each.name in ("txbxContent", "txBody") for each in node.walk())


# Reading runs ----------------------------------------------------------------------------------------


def items_of(xml: XmlBytes, node: Node) -> Iterator[Item]:
    for child in node.elements:
        start, end = child.start, child.end
        if child.name in NO_TEXT or child.name.endswith("Pr"):
            continue
        if child.name == "r":
            yield from run_items(xml, child)
        elif child.name == "t":  # text without a run
            yield Item("text", child.text, start, end, tag=child.tag)
        elif child.name in CONTAINERS:
            inside, behind = content_range(child)
            inner = child.child("sdtContent") or child
            kinds: tuple[Kind, Kind] = ("barrier", "barrier") if holds_paragraph(child) else ("open", "close")
            yield Item(kinds[0], xml.raw(start, inside), start, inside)
            yield from items_of(xml, inner)
            yield Item(kinds[1], xml.raw(behind, end), behind, end)
        elif holds_paragraph(child):
            yield Item("barrier", "", start, end)
        else:
            yield Item("kept" if child.name in KEPT else "single", xml.raw(start, end), start, end)


def content_range(container: Node) -> tuple[int, int]:
    """Where the content of a container is, behind its properties."""
    content = container.child("sdtContent")
    if content is not None:
        return content.inside, content.behind
    properties = [each.end for each in container.elements if each.name.endswith("Pr")]
    return max([container.inside, *properties]), container.behind


def run_items(xml: XmlBytes, run: Node) -> Iterator[Item]:
    """The first and the last one include the tags of the run."""
    properties = run.child("rPr")
    opened, closed = f"<{run.tag}>{written_properties(xml, properties)}", f"</{run.tag}>"
    children = [each for each in run.elements if each.name not in NO_TEXT]
    for number, child in enumerate(children):
        is_followed = number < len(children) - 1
        item = item_of(xml, child, f"{opened}{xml.raw(child.start, child.end)}{closed}")
        yield item._replace(
            style=style_of(xml, properties) if item.kind == "text" else item.style,
            start=child.start if number else run.start,
            end=children[number + 1].start if is_followed else run.end,
            opened=opened,
            closed=closed,
            is_inner=number > 0,
            is_followed=is_followed,
            tag=child.tag if child.name == "t" else f"{run.tag[:-1]}t",
        )


def item_of(xml: XmlBytes, child: Node, raw: str) -> Item:
    """A part of a run. What is not text brings its own run."""
    start, end = child.start, child.end
    if child.name == "t":
        return Item("text", child.text, start, end)
    if child.name == "noBreakHyphen":
        return Item("text", HYPHEN, start, end)
    if child.name == "fldChar":
        return Item("field", raw, start, end, child.get("fldCharType") or "")
    if child.name == "instrText":
        return Item("instruction", raw, start, end, child.text)
    if holds_paragraph(child):
        return Item("barrier", "", start, end)
    anchored = any(each.name == "anchor" for each in child.walk())
    return Item("kept" if child.name in KEPT and not anchored else "single", raw, start, end)


def style_of(xml: XmlBytes, properties: Node | None) -> str:
    """The properties of a run that divide a text."""
    if properties is None:
        return NO_STYLE
    tag = sorted(f"{name}={value}" for name, value in properties.attributes.items() if name not in NOT_IN_TAG)
    inner = [xml.raw(each.start, each.end) for each in properties.elements if each.name not in NOT_IN_STYLE]
    return "\0".join([*tag, *inner])


def written_properties(xml: XmlBytes, properties: Node | None) -> str:
    if properties is None:
        return ""
    names = [name for name in properties.attributes if name in ("lang", "altLang", "err", "dirty")]
    inner = "".join(
        xml.raw(each.start, each.end) for each in properties.elements if each.name not in NOT_WRITTEN
    )
    tag = xml.with_attributes(xml.start_tag(properties), dict.fromkeys(names))
    if not inner and " " not in tag:
        return ""
    if xml.is_empty_tag(properties):
        return tag
    return f"{tag}{inner}</{properties.tag}>"


# Fields ----------------------------------------------------------------------------------------------


def with_fields(items: Sequence[Item]) -> list[Item]:
    """Fields in place of the runs that make them: what is computed is kept, and what an author wrote is text between codes."""
    found: list[Item] = []
    place = 0
    while place < len(items):
        item = items[place]
        if item.kind not in ("field", "instruction"):
            found.append(item)
            place += 1
            continue
        separator, end = parts_of_field(items, place)
        whole = end is not None and are_balanced(items[place : end + 1])
        name = field_name(items[place : place + 1 if end is None else end])
        if end is not None and whole and name not in FIELDS_WITH_TEXT:
            found.append(joined("kept", items[place : end + 1]))
            place = end + 1
        elif end is not None and whole and separator is not None and are_balanced(items[separator + 1 : end]):
            found.append(joined("open", items[place : separator + 1]))
            found += with_fields(items[separator + 1 : end])
            found.append(joined("close", items[end : end + 1]))
            place = end + 1
        else:
            found.append(item._replace(kind="single"))
            place += 1
    return found


def field_name(items: Sequence[Item]) -> str:
    instruction = "".join(item.style for item in items if item.kind == "instruction").split()
    return instruction[0].upper() if instruction else ""


def are_balanced(items: Sequence[Item]) -> bool:
    """Whether no container begins or ends in the middle."""
    depth = 0
    for item in items:
        depth += {"open": 1, "close": -1}.get(item.kind, 0)
        if depth < 0:
            return False
    return depth == 0


def parts_of_field(items: Sequence[Item], begin: int) -> tuple[int | None, int | None]:
    """Where the instruction of a field ends, and where the field ends."""
    depth, separator = 0, None
    for place in range(begin, len(items)):
        item = items[place]
        if item.kind == "barrier":
            break
        if item.kind != "field":
            continue
        depth += {"begin": 1, "end": -1}.get(item.style, 0)
        if item.style == "separate" and depth == 1 and separator is None:
            separator = place
        if depth == 0 and item.style == "end":
            return separator, place
        if depth <= 0:
            break
    return separator, None


def joined(kind: Kind, items: Sequence[Item]) -> Item:
    """Several items as one code. Text inside is a result that is computed."""
    content = "".join(written(item, item.content) if item.kind == "text" else item.content for item in items)
    return items[-1]._replace(kind=kind, content=content, start=items[0].start, is_inner=items[0].is_inner)


# Segments --------------------------------------------------------------------------------------------


@dataclass
class Paragraph:
    """Items as parts, and how the text of each pair is written."""

    items: Sequence[Item]
    parts: list[Part] = field(default_factory=list)
    bases: dict[int, Item] = field(default_factory=dict)
    """The base of a container by the index of its opening item; -1 is the paragraph."""
    runs: dict[int, Item] = field(default_factory=dict)
    """What text inside a part is written as, by the part's index."""
    last_text: int = 0

    def build(self) -> None:
        containers = [-1]
        texts: dict[int, list[Item]] = {}
        for place, item in enumerate(self.items):
            if item.kind == "text":
                texts.setdefault(containers[-1], []).append(item)
            elif item.kind == "open":
                containers.append(place)
            elif item.kind == "close" and len(containers) > 1:
                containers.pop()
        self.bases = {container: base_of(own) for container, own in texts.items()}
        self.walk()

    def walk(self) -> None:
        containers = [-1]
        style, is_open = NO_STYLE, False
        for place, item in enumerate(self.items):
            if item.kind == "text":
                base = self.bases[containers[-1]]
                own = item.style if item.content.strip() else style if is_open else base.style
                if is_open and own != style:
                    self.close_pair()
                    is_open = False
                if own != base.style and not is_open:
                    self.add("open", own, item.start, item.start, item)
                    is_open, style = True, own
                self.last_text = len(self.parts)
            elif is_open and item.kind in ("open", "close"):
                self.close_pair()
                is_open = False
            if item.kind == "open":
                containers.append(place)
            elif item.kind == "close" and len(containers) > 1:
                containers.pop()
            self.add(item.kind, item.content, item.start, item.end, self.bases.get(place))
        if is_open:
            self.close_pair()

    def close_pair(self) -> None:
        """Behind the last text of the pair: breaks and images that follow it are not formatted."""
        end = self.parts[self.last_text].end
        self.parts.insert(self.last_text + 1, Part("close", "", end, end))

    def add(self, kind: Kind, content: str, start: int, end: int, run: Item | None = None) -> None:
        if run is not None:
            self.runs[len(self.parts)] = run
        self.parts.append(Part(kind, content, start, end))  # type: ignore[arg-type]


def base_of(texts: Sequence[Item]) -> Item:
    """The simplest properties: a choice that does not depend on the order of the words."""
    visible = [item for item in texts if item.content.strip()] or texts
    return min(visible, key=lambda item: (len(item.style), item.style))


def segments_of(xml: XmlBytes, items: Sequence[Item]) -> Iterator[Segment]:
    """The text between two barriers."""
    if not any(item.kind == "text" and any(map(str.isalpha, item.content)) for item in items):
        return
    paragraph = Paragraph(items)
    paragraph.build()
    formatting = {id(part) for part in paragraph.parts if part.kind == "open" and part.start == part.end}
    found = coded(paragraph.parts, formatting=lambda part: id(part) in formatting)
    if found is None or not found.has_letters:
        return
    writer = Writer.of(paragraph, found, items)
    yield Segment(
        text=found.text,
        start=found.start,
        end=found.end,
        encode=lambda text: xml.encode(writer.write(text)),
        markup=found.codes is not None,
        codes=found.codes,
    )


@dataclass(frozen=True)
class Writer:
    """Writes a translation as runs."""

    coded: Coded
    base: Item
    runs: dict[str, Item | None]
    """What the text inside a pair is written as, by its opening name."""
    before: str
    """Closes the run that the text begins in, if something of it stays in front."""
    behind: str

    @classmethod
    def of(cls, paragraph: Paragraph, found: Coded, items: Sequence[Item]) -> "Writer":
        places = {id(part): place for place, part in enumerate(paragraph.parts)}
        runs = {
            name: paragraph.runs.get(places.get(id(part), -1))
            for part, name in zip(found.parts, found.names, strict=True)
            if part.kind == "open"
        }
        texts = [item for item in items if item.kind == "text" and found.start <= item.start < found.end]
        return cls(found, top_base(found, texts), runs, before_run(items, found), behind_run(items, found))

    def write(self, text: str) -> str:
        codes = self.coded.codes
        if codes is None:
            return f"{self.before}{written(self.base, text)}{self.behind}"
        parts, runs = [], [self.base]
        for words, name in codes.pieces(text):
            if not name:
                parts.append(written(runs[-1], words))
                continue
            if name not in codes.formatting and f"<{name[2:]}" not in codes.formatting:
                parts.append(codes.originals[name])
            if name.startswith("<g"):
                runs.append(self.runs.get(name) or runs[-1])
            elif name.startswith("</"):
                runs.pop()
        return f"{self.before}{''.join(parts)}{self.behind}"


def top_base(found: Coded, texts: Sequence[Item]) -> Item:
    """The base of the text outside all pairs; if there is none, the simplest of all."""
    depth, outside = 0, []
    for part in found.parts:
        depth += {"open": 1, "close": -1}.get(part.kind, 0)
        if part.kind == "text" and depth == 0:
            outside += [item for item in texts if item.start == part.start]
    return base_of(outside or texts)


def before_run(items: Sequence[Item], found: Coded) -> str:
    """A tab at the start of a run stays outside, so its run is closed."""
    first = next((item for item in items if item.start == found.start and item.opened), None)
    return first.closed if first is not None and first.is_inner else ""


def behind_run(items: Sequence[Item], found: Coded) -> str:
    """What stays behind the text in its run gets a run of its own."""
    last = next((item for item in reversed(items) if item.end == found.end and item.opened), None)
    return last.opened if last is not None and last.is_followed else ""


def written(item: Item, text: str) -> str:
    if not text:
        return ""
    space = "" if item.tag.startswith("a:") else ' xml:space="preserve"'
    return f"{item.opened}<{item.tag}{space}>{escape(text)}</{item.tag}>{item.closed}"
