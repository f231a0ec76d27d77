"""Tags of HTML and XML."""

from collections import Counter
from collections.abc import Iterable
from xml.parsers import expat

from qkv.localization.checks.placeholders import difference
from qkv.localization.checks.unit import Check, Found, Unit
from qkv.text.entities import character_of
from qkv.text.markup import BLOCKS, ENTITY, Markup, scan

PAIRED = ("open", "close", "empty")
INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)


def tags_of(text: str) -> list[Markup]:
    """All markup but entities. In "Usage: copy <file>" there is none: a tag is one of HTML, or closed, or has attributes."""
    found = [tag for tag in scan(text) if tag.kind != "entity"]
    closed = {tag.name for tag in found if tag.kind == "close"}
    known = BLOCKS | INLINE | closed
    return [
        tag for tag in found if tag.kind != "open" or tag.name in known or "=" in text[tag.start : tag.end]
    ]


def names_of(text: str, tags: Iterable[Markup]) -> Counter[str]:
    """Elements by their names: the text of an attribute may be translated. Everything else as it is."""
    return Counter(written(tag) if tag.kind in PAIRED else text[tag.start : tag.end] for tag in tags)


def written(tag: Markup) -> str:
    return f"<{'/' * (tag.kind == 'close')}{tag.name}{'/' * (tag.kind == 'empty')}>"


def different_tags(unit: Unit) -> Found:
    if "<" not in unit.source and "<" not in unit.target:
        return
    after = names_of(unit.target, tags_of(unit.target))
    if after not in (names_of(text, tags_of(text)) for text in {unit.reference, unit.source}):
        yield f"tags differ: {difference(names_of(unit.reference, tags_of(unit.reference)), after)}"


def is_well_formed(text: str) -> bool:
    """Whether it could be the content of an XML element. Entities of HTML are known here."""
    known = ENTITY.sub(lambda found: "x" if character_of(found[0]) else found[0], text)
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<x>{known}</x>".encode(errors="replace"), True)
    except expat.ExpatError:
        return False
    return True


def malformed(unit: Unit) -> Found:
    """The tags of the source make it XML, but those of the translation do not."""
    if not tags_of(unit.source) or is_well_formed(unit.target) or not is_well_formed(unit.source):
        return
    yield "the tags of the source are well-formed, those of the translation are not"


TAGS = Check(name="tags", severity="error", summary="Tags were lost, added or changed.", find=different_tags)
MARKUP = Check(
    name="markup",
    severity="error",
    summary="Tags are not closed or not nested, or a bare < or & stands between them.",
    find=malformed,
)
