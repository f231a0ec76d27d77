"""Checks of a translated segment. One that fails makes the translation doubtful."""

from collections import Counter
from collections.abc import Iterator, Sequence

from qkv.documents import Segment
from qkv.localization.checks.placeholders import spans_in
from qkv.localization.checks.white_space import line_breaks
from qkv.text.protect import Protection


def failed_checks(segment: Segment, text: str, protected: Sequence[Protection]) -> Iterator[str]:
    """Checks of a new text against its source."""
    if segment.codes and not segment.codes.are_kept_by(text):
        yield "codes"
    if spans_in(segment.text, protected) != spans_in(text, protected) or loses_span(segment, text):
        yield "placeholders"
    if line_breaks(segment.text) != line_breaks(text):
        yield "line breaks"


def loses_span(segment: Segment, text: str) -> bool:
    """Whether a span that the reader found occurs less often than it must."""
    wanted = Counter(segment.text[start:end] for start, end in segment.spans)
    return any(text.count(span) < count for span, count in wanted.items())
