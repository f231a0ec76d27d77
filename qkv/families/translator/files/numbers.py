"""Put a number in the place of a placeholder, and find it again in the translation."""

import re
import unicodedata

from qkv.text.protect import Kind, ProtectedSpan, protected_spans

COUNTS = re.compile(  # placeholders of whole numbers, by their type or their name
    r"%(?:\d{1,2}\$)?(?:\([^()]*\))?(?:hh|h|ll|l|q|z|j|t)?[diu]|%L?n"
    r"|[%#$]?\{+\s*(?:n|num|number|numbers?of\w*|count|cnt|total|quantity|amount|nb|\w*_?count|num_?\w*)\s*(?:[:,][^{}]*)?\}+",
    re.IGNORECASE,
)
NOT_PLACEHOLDERS = {"tags", "urls", "emails", "numbers", "pattern"}
SEPARATORS = r"[.,'\u2019\u00a0\u202f\u2009 ]"


def counted_placeholder(text: str, kinds: tuple[Kind, ...]) -> ProtectedSpan | None:
    """The placeholder of the number that selects the plural form; None if that is not clear."""
    found = [
        span
        for span in protected_spans(text, kinds)
        if span.kind not in NOT_PLACEHOLDERS and span.text != "%%"
    ]
    if len(found) > 1:
        found = [span for span in found if COUNTS.fullmatch(span.text)]
    return found[0] if len(found) == 1 else None


def find_number(text: str, number: str) -> tuple[int, int] | None:
    """Where a number is in a translation, if it is there exactly once."""
    found = find_numbers(text, number)
    return found[0] if len(found) == 1 else None


def find_numbers(text: str, number: str) -> list[tuple[int, int]]:
    """Everywhere that a number is in a text: in any digits, grouped in any way."""
    whole, _, fraction = number.partition(".")
    digits = whole if len(whole) < 4 else rf"{SEPARATORS}?".join(groups_of(whole))
    pattern = digits + (rf"[.,\u066b]{fraction}" if fraction else "")
    plain = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)
    return [match.span() for match in re.finditer(rf"(?<!\d)(?<!\d[.,]){pattern}(?![.,]?\d)", plain)]


def groups_of(digits: str) -> list[str]:
    """Thousands apart."""
    first = len(digits) % 3
    return [digits[:first], *(digits[place : place + 3] for place in range(first, len(digits), 3))][
        not first :
    ]


def probes(numbers: tuple[str, ...], text: str) -> list[str]:
    """The numbers to try, best first: not those of the text, and rather from 2 on."""
    free = [number for number in numbers if not re.search(rf"(?<!\d){re.escape(number)}(?!\d)", text)]
    return sorted(free, key=lambda number: float(number) < 2)
