"""Numbers. Separators may differ: 1,000.5 is 1.000,5 in German."""

import re
import unicodedata
from collections import Counter

from qkv.localization.checks.unit import Check, Found, Unit
from qkv.text.protect import Kind, protected_spans

OTHERS: tuple[Kind, ...] = ("tags", "urls", "emails", "placeholders", "numbers")
SEPARATOR = re.compile(r"[.,'’\u00a0\u202f\u2009]")


def numbers_in(text: str, dialect: Kind | None) -> Counter[str]:
    """The digits of each number outside placeholders, tags and addresses."""
    kinds: tuple[Kind, ...] = OTHERS if dialect is None else (*OTHERS, dialect)
    joined = re.sub(r"(?<=\d)[\u00a0\u202f\u2009 ](?=\d{3}(?!\d))", ",", text)
    spans = protected_spans(joined, kinds)
    return Counter(digits(span.text) for span in spans if span.kind == "numbers")


def digits(number: str) -> str:
    """Without separators, in ASCII."""
    return "".join(
        str(unicodedata.digit(each)) if each.isdigit() else each for each in SEPARATOR.sub("", number)
    )


def different_numbers(unit: Unit) -> Found:
    if not any(each.isdigit() for text in (unit.source, unit.target) for each in text):
        return
    before, after = numbers_in(unit.reference, unit.dialect), numbers_in(unit.target, unit.dialect)
    if before == after or after == numbers_in(unit.source, unit.dialect):
        return
    lost, added = (", ".join(each.elements()) for each in (before - after, after - before))
    if lost and added:
        yield f"the numbers differ: {added} instead of {lost}"
    else:
        yield f"the numbers differ: {'lost' if lost else 'added'} {lost or added}"


NUMBERS = Check(name="numbers", severity="warning", summary="Numbers differ.", find=different_numbers)
