"""Checks of a translated segment. One that fails makes the translation doubtful."""

from collections import Counter
from collections.abc import Iterator, Sequence

from qkv.documents import Segment
from qkv.families.translator.translations import Translation
from qkv.text.protect import Kind, protected_spans


def failed_checks(
    segment: Segment, translation: Translation, text: str, kinds: Sequence[Kind]
) -> Iterator[str]:
    """Each of these makes a translation doubtful."""
    if translation.unsure:
        yield "confidence"
    if segment.codes and not segment.codes.are_kept_by(text):
        yield "codes"
    if spans_in(segment.text, kinds) != spans_in(text, kinds):
        yield "placeholders"
    if line_breaks(segment.text) != line_breaks(text):
        yield "line breaks"
    if text != translation.text:
        yield "characters"
    if segment.is_ambiguous:
        yield "plural form"


def spans_in(text: str, kinds: Sequence[Kind]) -> Counter[str]:
    """Protected spans except entities, which are a way to write characters."""
    return Counter(span.text for span in protected_spans(text, kinds) if not span.text.startswith("&"))


def line_breaks(text: str) -> tuple[bool, bool, int]:
    """Programs check that both sides start and end alike."""
    return text.startswith("\n"), text.endswith("\n"), text.count("\n")
