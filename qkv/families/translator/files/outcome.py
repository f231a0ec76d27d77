"""What was done with a segment, and its line in the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qkv.documents import Document, NewText, Segment
from qkv.families.translator.files.checks import failed_checks
from qkv.families.translator.translations import Translation
from qkv.text.protect import Kind


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was done with a segment."""

    origin: str  # model, copied, file, or withheld and held for segments that were left as they are
    new: NewText | None = None
    confidence: float | None = None
    checks: tuple[str, ...] = ()  # those that failed

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
        }


def outcome_of(
    document: Document, segment: Segment, translation: Translation, kinds: Sequence[Kind]
) -> Outcome:
    if translation.unsure and not translation.text:
        return Outcome(origin="withheld", confidence=translation.confidence, checks=("confidence",))
    text = document.storable(translation.text)
    checks = tuple(failed_checks(segment, translation, text, kinds))
    return Outcome(
        origin="model" if translation.log_probabilities else "copied",
        new=NewText(
            segment.codes.repair(text) if segment.codes else text,
            doubtful=bool(checks),
            alignment=translation.alignment,
        ),
        confidence=translation.confidence,
        checks=checks,
    )
