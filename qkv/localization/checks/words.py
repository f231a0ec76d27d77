"""Words: those that are doubled, and texts that are the same in both languages."""

import re

from qkv.localization.checks.symbols import without_spans
from qkv.localization.checks.unit import Check, Found, Unit

DOUBLED = re.compile(r"\b([^\W\d_]+)[ \t\n\u00a0]+\1\b", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]{2,}")
FEWEST_WORDS = 2  # of one word, the translation is often the same
# Two of these in a row are good German, French, Spanish and Italian.
OFTEN_DOUBLED = frozenset(
    ["der", "die", "das", "den", "dem", "des", "sie", "nous", "vous", "se", "le", "la", "si"]
)


def doubled(unit: Unit) -> Found:
    if DOUBLED.search(unit.source):
        return
    for match in DOUBLED.finditer(unit.target):
        if match[1].lower() not in OFTEN_DOUBLED:
            yield f"'{match[1]}' stands twice in a row"


def unchanged(unit: Unit) -> Found:
    if (
        unit.source == unit.target
        and len(WORD.findall(without_spans(unit.source, unit.dialect))) >= FEWEST_WORDS
    ):
        yield "the translation is the same as the source"


def other_case(unit: Unit) -> Found:
    before, after = (
        next((each for each in text if each.isalnum()), "") for text in (unit.source, unit.target)
    )
    both_cased = all(each.lower() != each.upper() for each in (before, after))
    if (
        both_cased
        and unit.source[0].isalpha()
        and unit.target[0].isalpha()
        and before.isupper() != after.isupper()
    ):
        yield f"starts with {'a capital' if after.isupper() else 'a small letter'}, unlike the source"


DOUBLE_WORDS = Check(
    name="double-words", severity="warning", summary="A word stands twice in a row.", find=doubled
)
UNCHANGED = Check(
    name="unchanged",
    severity="info",
    summary="Two words or more that are the same as the source.",
    find=unchanged,
)
START_CASE = Check(
    name="start-case",
    severity="info",
    summary="Only one side starts with a capital.",
    find=other_case,
)
