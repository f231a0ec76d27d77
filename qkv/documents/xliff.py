"""XLIFF 1.2 and 2.x: every target is a segment. A target that is missing is inserted after its source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from qkv.documents.document import Document, Edit, NewText, NewTexts, Segment, State, are_changed
from qkv.documents.xliff_inline import Inline
from qkv.documents.xml_pairs import Pair
from qkv.documents.xml_slots import ILLEGAL, XmlBytes
from qkv.documents.xml_tree import Node, check_root, encoding_of, subtrees

NOT_TRANSLATED = frozenset({"new", "needs-translation"})
DOUBT: Mapping[str, str | None] = {
    "state": "needs-review-translation",
    "state-qualifier": "mt-suggestion",
}
DOUBT_2: Mapping[str, str | None] = {"state": "initial", "subState": "qkv:mt-suggestion"}
NO_DOUBT: Mapping[str, str | None] = {"state": "translated", "state-qualifier": None}
NO_DOUBT_2: Mapping[str, str | None] = {"state": "translated", "subState": None}


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Pairs that share one target element, and so one state."""

    key: str
    after: Node
    """What a new target follows: a source, or a source with marked segments."""
    target: Node | None
    pairs: tuple[Pair, ...]
    version: int

    @property
    def holder(self) -> Node | None:
        """The element with the state."""
        return self.target if self.version == 1 else self.after.parent

    @property
    def state(self) -> str:
        return (self.holder is not None and self.holder.get("state")) or ""


def read_xliff(content: bytes, target: str | None = None) -> Document:
    check_root(content, "xliff")
    xml = XmlBytes(content, encoding_of(content))
    units: list[Unit] = []
    files: dict[int, Node] = {}
    for node in subtrees(content, "trans-unit", "unit"):
        files.update((each.start, each) for each in node.ancestors if each.name in ("file", "xliff"))
        if node.inherited("translate") != "no":
            units += units_1(xml, node) if node.name == "trans-unit" else units_2(xml, node)
    segments = [segment_of(xml, unit, pair) for unit in units for pair in unit.pairs]
    languages = list(files.values())

    def marks(new: NewTexts) -> Iterator[Edit]:
        rest = iter(new)
        own = iter(segments)
        for unit in units:
            count = len(unit.pairs)
            yield from unit_edits(xml, unit, list(islice(own, count)), list(islice(rest, count)))
        if target is not None and are_changed(segments, new):
            yield from language_edits(xml, languages, target)

    return Document(
        content=content,
        segments=tuple(segments),
        media_type="application/xliff+xml",
        source_language=stated(languages, "source-language", "srcLang"),
        target_language=stated(languages, "target-language", "trgLang"),
        marks=marks,
        forbidden=ILLEGAL,
    )


def stated(nodes: Sequence[Node], *names: str) -> str | None:
    return next((found for node in nodes for name in names if (found := node.get(name))), None)


def language_edits(xml: XmlBytes, nodes: Sequence[Node], target: str) -> Iterator[Edit]:
    """The language is set where the file leaves it open."""
    for node in nodes:
        name = "target-language" if node.name == "file" else "trgLang"
        holds = node.get("source-language") if node.name == "file" else node.get("srcLang")
        if holds is not None and not node.get(name):
            yield from xml.attribute_edits(node, {name: target})


# Units -----------------------------------------------------------------------------------------------


def units_1(xml: XmlBytes, node: Node) -> Iterator[Unit]:
    """XLIFF 1.2: a unit has a source, perhaps the source in segments, and perhaps a target."""
    source, divided, target = node.child("source"), node.child("seg-source"), node.child("target")
    if source is None:
        return
    sources = marked_segments(divided) if divided else {}
    targets = marked_segments(target) if target else {}
    has_text = target is not None and bool(target.children)
    if divided is not None and sources and (not has_text or set(sources) <= set(targets)):
        pairs = [pair_of(xml, sources[name], targets.get(name)) for name in sources]
        after = divided
    else:
        pairs, after = [pair_of(xml, source, target)], divided or source
    found = tuple(pair for pair in pairs if pair is not None)
    if found:
        yield Unit(key=node.get("id") or "", after=after, target=target, pairs=found, version=1)


def units_2(xml: XmlBytes, node: Node) -> Iterator[Unit]:
    """XLIFF 2: a unit has segments, and each a source and perhaps a target."""
    for segment in node.elements:
        source, target = segment.child("source"), segment.child("target")
        if segment.name != "segment" or source is None:
            continue
        pair = pair_of(xml, source, target)
        key = "/".join(filter(None, [node.get("id"), segment.get("id")]))
        if pair is not None:
            yield Unit(key=key, after=source, target=target, pairs=(pair,), version=2)


def marked_segments(node: Node) -> dict[str, Node]:
    return {
        each.get("mid") or "": each
        for each in node.walk()
        if each.name == "mrk" and each.get("mtype") == "seg"
    }


def pair_of(xml: XmlBytes, source: Node, target: Node | None) -> Pair | None:
    return Pair.of(xml, Inline(xml).content, source, target)


# Reading targets -------------------------------------------------------------------------------------


def segment_of(xml: XmlBytes, unit: Unit, pair: Pair) -> Segment:
    target, codes = pair.target, pair.coded.codes
    text = pair.current
    if target is not None and target.name == "mrk" and xml.is_empty_tag(target):
        start, end = target.start, target.end

        def encode(text: str) -> bytes:
            opened = xml.start_tag(target).rstrip("/> \t\r\n")
            return xml.encode(f"{opened}>{pair.written(text)}</{target.tag}>")

    elif target is None or xml.is_empty_tag(target):
        place = unit.target.end if unit.target else unit.after.end
        start, end = place, place

        def encode(text: str) -> bytes:
            return b""  # the whole element is new: see `unit_edits`

    else:
        start, end = target.inside, target.behind

        def encode(text: str) -> bytes:
            return xml.encode(pair.written(text))

    return Segment(
        text=pair.coded.text,
        start=start,
        end=end,
        encode=encode,
        markup=codes is not None,
        codes=codes,
        key=unit.key,
        target=text,
        state=state_of(unit, pair, text),
    )


def state_of(unit: Unit, pair: Pair, text: str) -> State:
    state = unit.state
    if not text or (state in NOT_TRANSLATED and text == pair.coded.text):
        return "untranslated"
    doubtful = state.startswith("needs-") or state in NOT_TRANSLATED or state == "initial"
    return "fuzzy" if doubtful else "translated"


# Writing targets -------------------------------------------------------------------------------------


def unit_edits(xml: XmlBytes, unit: Unit, segments: Sequence[Segment], new: NewTexts) -> Iterator[Edit]:
    """New targets, and the states that follow from doubt."""
    changed = [
        each is not None and (each.text != segment.target or each.doubtful != (segment.state == "fuzzy"))
        for segment, each in zip(segments, new, strict=True)
    ]
    if not any(changed):
        return
    state = new_state(unit, segments, new)
    target = unit.target
    inserted = target is None or xml.is_empty_tag(target)
    if inserted and any(each is not None and each.text for each in new):
        tag = start_tag(xml, unit)
        if unit.version == 1:
            tag = xml.with_attributes(tag, state)
        content = "".join(new_content(xml, unit, new))
        name = tag_name(unit)
        place = (target.start, target.end) if target else (unit.after.end, unit.after.end)
        line = "" if target else xml.line_before(unit.after)
        yield Edit(*place, xml.encode(f"{line}{tag}{content}</{name}>"))
    if unit.holder is not None and (unit.version == 2 or not inserted):
        yield from xml.attribute_edits(unit.holder, state)


def new_state(unit: Unit, segments: Sequence[Segment], new: NewTexts) -> Mapping[str, str | None]:
    """Doubt in one of the pairs is doubt in the unit."""
    both = list(zip(segments, new, strict=True))
    doubtful = any(each.doubtful if each else segment.state == "fuzzy" for segment, each in both)
    if doubtful:
        return DOUBT if unit.version == 1 else DOUBT_2
    if not unit.state:
        return {}
    missing = any(each is None and segment.state == "untranslated" for segment, each in both)
    return {} if missing else NO_DOUBT if unit.version == 1 else NO_DOUBT_2


def tag_name(unit: Unit) -> str:
    prefix = unit.after.tag.rpartition(":")[0]
    return f"{prefix}:target" if prefix else "target"


def start_tag(xml: XmlBytes, unit: Unit) -> str:
    if unit.target is None:
        return f"<{tag_name(unit)}>"
    return xml.start_tag(unit.target).rstrip()[:-2].rstrip() + ">"


def new_content(xml: XmlBytes, unit: Unit, new: Sequence[NewText | None]) -> Iterator[str]:
    """The source's structure with the new texts in it. Segments without one stay empty."""
    last = unit.after.inside
    if unit.pairs[0].source.name != "mrk":
        yield unit.pairs[0].written(new[0].text if new[0] else "")
        return
    for pair, each in zip(unit.pairs, new, strict=True):
        yield xml.raw(last, pair.source.inside)
        yield pair.written(each.text) if each else ""
        last = pair.source.behind
    yield xml.raw(last, unit.after.behind)
