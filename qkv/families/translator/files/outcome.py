"""What was done with a segment, and its line in the report."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from qkv.documents import Document, NewText, Segment
from qkv.families.translator.files.checks import failed_checks, limit_of
from qkv.families.translator.files.task import Draft, task_of
from qkv.families.translator.lines import LineTranslation
from qkv.families.translator.options import ConfidenceOptions, FileOptions


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was done with a segment."""

    origin: str  # model, copied, file, or withheld and held for segments that were left as they are
    new: NewText | None = None
    confidence: float | None = None
    checks: tuple[str, ...] = ()  # those that failed
    details: tuple[tuple[str, Any], ...] = ()

    def record(self, segment: Segment) -> dict[str, Any]:
        return {
            "key": segment.key,
            "context": segment.context,
            "plural": segment.plural,
            "source": segment.text,
            "target": self.new.text if self.new else segment.target,
            "origin": self.origin,
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "doubtful": self.new is not None and self.new.doubtful,
            "checks": list(self.checks),
            **dict(self.details),
        }


def outcome_of(
    document: Document, segment: Segment, draft: Draft, lines: LineTranslation, files: FileOptions
) -> Outcome:
    unsure = is_unsure(draft, lines.confidence)
    if draft.origin == "held":
        return Outcome(origin="held", checks=draft.checks)
    if unsure and lines.confidence.withhold:
        return Outcome(origin="withheld", confidence=draft.confidence, checks=("confidence",))
    text = document.storable(draft.text)
    checks = tuple(dict.fromkeys(checks_of(segment, replace(draft, text=text), lines)))
    limit = limit_of(segment, files)
    if limit is not None and len(text) > limit:
        checks = (*checks, "length")
    checks = (*(["confidence"] if unsure else []), *checks, *(["characters"] if text != draft.text else []))
    return Outcome(
        origin=draft.origin,
        new=NewText(
            segment.codes.repair(text) if segment.codes else text,
            doubtful=bool(checks),
            alignment=draft.alignment,
        ),
        confidence=draft.confidence,
        checks=checks,
        details=draft.details,
    )


def is_unsure(draft: Draft, options: ConfidenceOptions) -> bool:
    least, confidence = options.min_confidence, draft.confidence
    return least is not None and confidence is not None and confidence < least


def checks_of(segment: Segment, draft: Draft, lines: LineTranslation) -> Iterator[str]:
    yield from draft.checks
    if draft.is_checked:
        return
    yield from failed_checks(
        segment, draft.text, task_of(segment, lines.options).options(lines.options).protected
    )
