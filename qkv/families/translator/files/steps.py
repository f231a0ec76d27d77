"""Choose how a segment is translated."""

from collections.abc import Sequence

from qkv.documents import Segment
from qkv.families.translator.files.task import Draft, Steps, Task
from qkv.families.translator.options import TranslationOptions
from qkv.text.patterns import MARKED, mark_spans
from qkv.text.protect import Kind

KINDS_OF_CODES: tuple[Kind, ...] = ("tags", "placeholders")


def steps_of(segment: Segment, options: TranslationOptions) -> Steps:
    return plain_steps(segment, options)


def plain_steps(segment: Segment, options: TranslationOptions) -> Steps:
    [answers] = yield [task_of(segment, options)]
    return [Draft.of(answers[0])]


def task_of(segment: Segment, options: TranslationOptions) -> Task:
    """The text of a segment as it is."""
    patterns = (*segment.protect_pattern, *options.protect_pattern)
    return Task(
        text=mark_spans(segment.text, segment.spans),
        protect=kinds_for(segment, options.protect),
        protect_pattern=(MARKED.pattern, *patterns) if segment.spans else patterns,
    )


def kinds_for(segment: Segment, protect: Sequence[Kind]) -> tuple[Kind, ...]:
    """The placeholders of the segment's dialect in place of placeholders in general, and what its reader adds.

    Inline codes are always protected.
    """
    named = (segment.dialect or kind if kind == "placeholders" else kind for kind in protect)
    return tuple(dict.fromkeys((*named, *segment.protect, *(KINDS_OF_CODES if segment.codes else ()))))
