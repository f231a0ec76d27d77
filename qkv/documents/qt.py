"""Qt's .ts files: every translation is a segment, and each of its plural forms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from qkv.documents.document import Document, Edit, NewTexts, Segment, State, are_changed
from qkv.documents.plural_forms import gettext_numbers, plural_forms
from qkv.documents.xml_pairs import Pair
from qkv.documents.xml_slots import ILLEGAL, Content, XmlBytes
from qkv.documents.xml_slots import escape as xml_escape
from qkv.documents.xml_tree import Node, check_root, encoding_of, subtrees

GONE = frozenset({"vanished", "obsolete"})
VARIANTS = "it has variants of different lengths"


@dataclass(frozen=True, kw_only=True)
class Message:
    translation: Node
    segments: tuple[Segment, ...]
    pairs: tuple[Pair, ...]


def read_qt(content: bytes, target: str | None = None) -> Document:
    check_root(content, "TS")
    xml = XmlBytes(content, encoding_of(content))
    messages: list[Message] = []
    roots: dict[int, Node] = {}
    for context in subtrees(content, "context"):
        roots.update((each.start, each) for each in context.ancestors if each.name == "TS")
        name = context.child("name")
        for node in context.elements:
            if node.name == "message":
                messages += messages_of(xml, node, name.text if name else "", target)

    segments = tuple(segment for message in messages for segment in message.segments)

    def marks(new: NewTexts) -> Iterator[Edit]:
        rest = iter(new)
        for message in messages:
            yield from type_edits(xml, message, list(islice(rest, len(message.segments))))
        if target is not None and are_changed(segments, new):
            for root in roots.values():
                if not root.get("language"):
                    yield from xml.attribute_edits(root, {"language": target.replace("-", "_")})

    root = next(iter(roots.values()), None)
    return Document(
        content=content,
        segments=segments,
        media_type="application/x-linguist",
        source_language=(root and root.get("sourcelanguage")) or None,
        target_language=(root and root.get("language")) or None,
        marks=marks,
        forbidden=ILLEGAL,
    )


def escape(text: str) -> str:
    """As Qt Linguist writes it."""
    return xml_escape(text).replace('"', "&quot;").replace("'", "&apos;")


def messages_of(xml: XmlBytes, node: Node, context: str, target: str | None) -> Iterator[Message]:
    source, translation = node.child("source"), node.child("translation")
    if source is None or translation is None or translation.get("type") in GONE:
        return
    numerus = node.get("numerus") == "yes"
    numbers = gettext_numbers((target and plural_forms(target)) or "") if numerus else ()
    places = numerus_places(translation, len(numbers)) if numerus else [translation]
    found = [Pair.of(xml, lambda each: content_of(xml, each), source, place) for place in places]
    pairs = [pair for pair in found if pair is not None]
    comment = node.child("comment")
    variants = any(each.name == "lengthvariant" for each in translation.walk())
    segments = [
        replace(
            segment_of(xml, pair, translation),
            key=node.get("id") or "",
            context="\x04".join(filter(None, [context, comment.text if comment else ""])),
            plural=str(form) if numerus else "",
            numbers=numbers[form] if form < len(numbers) else (),
            is_ambiguous=len(pairs) > 1,
            held=VARIANTS if variants else "",
        )
        for form, pair in enumerate(pairs)
    ]
    if segments:
        yield Message(translation=translation, segments=tuple(segments), pairs=tuple(pairs))


def content_of(xml: XmlBytes, node: Node) -> Content:
    """A <byte> element is a control character."""
    content = xml.content_parts(node, lambda each: [xml.code("single", each.start, each.end)])
    return content._replace(escape=escape) if content.escape is xml_escape else content


def numerus_places(translation: Node, count: int) -> list[Node | None]:
    """The plural forms that the message has, and None for those that it lacks."""
    forms: list[Node | None] = [each for each in translation.elements if each.name == "numerusform"]
    return [*forms, *[None] * (count - len(forms))] or [None]


def segment_of(xml: XmlBytes, pair: Pair, translation: Node) -> Segment:
    """Where the element is an empty tag, or has to be made, it is written anew."""
    place, text = pair.target, pair.current
    state: State = "translated" if translation.get("type") != "unfinished" else "fuzzy"
    if xml.is_empty_tag(translation):
        start, end = translation.end, translation.end

        def encode(text: str) -> bytes:
            return b""  # see `empty_tag_edit`

    elif place is None or xml.is_empty_tag(place):
        start, end = (place.start, place.end) if place else (end_of_forms(translation),) * 2

        def encode(text: str) -> bytes:
            return xml.encode(f"<numerusform>{pair.written(text)}</numerusform>")

    else:
        start, end = place.inside, place.behind

        def encode(text: str) -> bytes:
            return xml.encode(pair.written(text))

    return Segment(
        text=pair.coded.text,
        start=start,
        end=end,
        encode=encode,
        markup=pair.coded.codes is not None,
        codes=pair.coded.codes,
        target=text,
        state=state if text else "untranslated",
        dialect="qt-format",
    )


def end_of_forms(translation: Node) -> int:
    elements = translation.elements
    return elements[-1].end if elements else translation.inside


def type_edits(xml: XmlBytes, message: Message, new: NewTexts) -> Iterator[Edit]:
    """A message is unfinished if one of its texts is doubtful or missing."""
    both = list(zip(message.segments, new, strict=True))
    if not any(
        each and (each.text != old.target or each.doubtful != (old.state == "fuzzy")) for old, each in both
    ):
        return
    unfinished = any(each.doubtful if each else old.state != "translated" for old, each in both)
    values: Mapping[str, str | None] = {"type": "unfinished" if unfinished else None}
    translation = message.translation
    if not xml.is_empty_tag(translation):
        yield from xml.attribute_edits(translation, values)
    elif any(each and each.text for each in new):
        yield Edit(translation.start, translation.end, xml.encode(written(xml, message, new, values)))


def written(xml: XmlBytes, message: Message, new: NewTexts, values: Mapping[str, str | None]) -> str:
    """A translation element in place of its empty tag."""
    opened = xml.start_tag(message.translation).rstrip()[:-2].rstrip() + ">"
    texts = [pair.written(each.text) if each else "" for pair, each in zip(message.pairs, new, strict=True)]
    if message.segments[0].plural:
        texts = [f"<numerusform>{text}</numerusform>" for text in texts]
    return f"{xml.with_attributes(opened, values)}{''.join(texts)}</{message.translation.tag}>"
