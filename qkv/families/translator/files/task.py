"""Tasks of the model, its answers, and drafts: what a translation passes through before it is checked and written."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qkv.documents import Segment
from qkv.families.translator.options import TranslationOptions
from qkv.families.translator.translations import Links, Translation
from qkv.text.patterns import MARKED, mark_spans, without_marks
from qkv.text.protect import Kind

KINDS_OF_CODES: tuple[Kind, ...] = ("tags", "placeholders")


@dataclass(frozen=True)
class Task:
    """A text for the model. Equal tasks are translated once."""

    text: str
    protect: tuple[Kind, ...]
    protect_pattern: tuple[str, ...] = ()
    num_hypotheses: int = 1
    alignments: bool = False

    def options(self, common: TranslationOptions) -> TranslationOptions:
        beam = common.beam_size
        return replace(
            common,
            beam_size=beam if self.num_hypotheses == 1 else max(beam or 0, self.num_hypotheses),
            protect=self.protect,
            protect_pattern=self.protect_pattern,
            num_hypotheses=self.num_hypotheses,
            alignments=self.alignments,
        )


def task_of(segment: Segment, options: TranslationOptions) -> Task:
    """The text of a segment as it is."""
    patterns = (*segment.protect_pattern, *options.protect_pattern)
    return Task(
        text=mark_spans(segment.text, segment.spans),
        protect=kinds_for(segment, options.protect),
        protect_pattern=(MARKED.pattern, *patterns) if segment.spans else patterns,
        alignments=segment.spread is not None,
    )


def kinds_for(segment: Segment, protect: Sequence[Kind]) -> tuple[Kind, ...]:
    """The placeholders of the segment's dialect in place of placeholders in general, and what its reader adds.

    Inline codes are always protected.
    """
    named = (segment.dialect or kind if kind == "placeholders" else kind for kind in protect)
    return tuple(dict.fromkeys((*named, *segment.protect, *(KINDS_OF_CODES if segment.codes else ()))))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A translation of a task."""

    text: str
    confidence: float | None = None
    copied: bool = False
    """Whether there was nothing to translate."""
    alignment: Links | None = None

    @classmethod
    def of(cls, translation: Translation) -> "Answer":
        return cls(
            text=without_marks(translation.text),
            confidence=translation.confidence,
            copied=not translation.log_probabilities,
            alignment=translation.alignment,
        )


Answers = tuple[Answer, ...]
"""The answers to one task, best first."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A new text for a segment, before the last checks."""

    text: str
    origin: str = "model"
    confidence: float | None = None
    checks: tuple[str, ...] = ()
    """What is already known to be wrong with it."""
    accelerator: tuple[str, str] | None = None
    """The sign and the letter of an accelerator that was taken out."""
    is_checked: bool = False
    """Whether its parts were checked already, because the text as a whole cannot be."""
    details: tuple[tuple[str, Any], ...] = ()
    """More for the report."""
    alignment: Links | None = None
    """With the words of the segment's text, if they are known."""

    @classmethod
    def of(cls, answer: Answer, *checks: str) -> "Draft":
        origin = "copied" if answer.copied else "model"
        return cls(
            text=answer.text,
            origin=origin,
            confidence=answer.confidence,
            checks=checks,
            alignment=answer.alignment,
        )


Steps = Generator[Sequence[Task], list[Answers], list[Draft]]
"""How segments are translated that belong together: yields tasks, receives their answers, and returns a draft for each segment.

Later tasks may depend on earlier answers. All segments of a file advance together, so the model always gets many tasks at once.
"""


def least(confidences: Sequence[float | None]) -> float | None:
    """A text is as good as its worst part."""
    known = [each for each in confidences if each is not None]
    return min(known, default=None)
