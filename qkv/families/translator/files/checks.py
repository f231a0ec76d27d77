"""Checks of a translated segment. One that fails makes the translation doubtful."""

from collections import Counter
from collections.abc import Iterator, Sequence

from qkv.documents import Segment
from qkv.families.translator.options import FileOptions
from qkv.localization.checks.placeholders import spans_in
from qkv.localization.checks.white_space import line_breaks
from qkv.text.protect import TAKES_NEXT_ARGUMENT, Protection


def failed_checks(segment: Segment, text: str, protected: Sequence[Protection]) -> Iterator[str]:
    """Checks of a new text against its source."""
    if segment.codes and not segment.codes.are_kept_by(text):
        yield "codes"
    source, target = (spans_in(each, protected) for each in (segment.text, text))
    if (
        Counter(source) != Counter(target)
        or in_order(source) != in_order(target)
        or loses_span(segment, text)
    ):
        yield "placeholders"
    if line_breaks(segment.text) != line_breaks(text):
        yield "line breaks"


def in_order(spans: Sequence[str]) -> list[list[str]]:
    """Placeholders that take the next argument, whose order matters."""
    return [[span for span in spans if pattern.fullmatch(span)] for pattern in TAKES_NEXT_ARGUMENT]


def loses_span(segment: Segment, text: str) -> bool:
    """Whether a span that the reader found occurs less often than it must."""
    wanted = Counter(segment.text[start:end] for start, end in segment.spans)
    return any(text.count(span) < count for span, count in wanted.items())


def limit_of(segment: Segment, files: FileOptions) -> int | None:
    """The most characters of a translation, by the file and by the options."""
    ratio = files.max_length_ratio
    limits = [segment.max_length, None if ratio is None else int(ratio * len(segment.text))]
    return min((each for each in limits if each is not None), default=None)
