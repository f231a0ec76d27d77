"""Texts that differ in numbers and placeholders only: put those of a new source into a stored translation."""

import json
import re
from collections.abc import Sequence

from qkv.text.protect import KINDS, ProtectedSpan, protected_spans, replace_spans


def variable_spans(text: str) -> list[ProtectedSpan]:
    """Numbers and placeholders. Those inside tags and addresses belong to these, and %% is a character."""
    return [
        span
        for span in protected_spans(text, KINDS)
        if span.kind in ("numbers", "placeholders") and span.text != "%%"
    ]


def pattern_of(text: str) -> str | None:
    """The text with its numbers and placeholders replaced by their kinds. None if there are none.

    The kind of a number has its separators: 1,000 and 2.5 are not written alike in all languages.
    """
    spans = variable_spans(text)
    if not spans:
        return None
    parts: list[str | list[str]] = []
    last = 0
    for span in spans:
        parts += [text[last : span.start], [kind_of(span)]]
        last = span.end
    return json.dumps([*parts, text[last:]])


def kind_of(span: ProtectedSpan) -> str:
    return re.sub(r"\d+", "0", span.text) if span.kind == "numbers" else "%"


def adapt(new: str, source: str, target: str) -> str | None:
    """The translation of `new`, whose pattern is that of `source`; None if it is not clear what goes where.

    It is clear if the target has exactly the numbers and placeholders of the source, and equal ones are to be replaced by
    equal ones.
    """
    old_spans, new_spans, places = variable_spans(source), variable_spans(new), variable_spans(target)
    if sorted(texts_of(old_spans)) != sorted(texts_of(places)):
        return None
    replaced: dict[str, str] = {}
    for before, after in zip(texts_of(old_spans), texts_of(new_spans), strict=True):
        if replaced.setdefault(before, after) != after:
            return None
    adapted = replace_spans(target, places, [replaced[each.text] for each in places])
    # A replaced number may join what stands beside it: check that the result reads as intended.
    kept = sorted(texts_of(variable_spans(adapted))) == sorted(texts_of(new_spans))
    return adapted if kept else None


def texts_of(spans: Sequence[ProtectedSpan]) -> list[str]:
    return [span.text for span in spans]
