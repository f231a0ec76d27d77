"""Evaluate a translation system on one test set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qkv.evaluation.overlap import Overlap, Seen, find_overlap
from qkv.evaluation.scores import References, Scorer, TranslationScores, present
from qkv.evaluation.sentences import WORST, LengthBucket, WorstSentence, by_length, worst
from qkv.evaluation.significance import Difference, compare


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """A test set: one or more references for each sentence, and the sources if they are known."""

    references: References
    source: list[str] | None = None
    lines: Sequence[int] = ()
    """The number of each sentence's first line, if lines were merged."""

    def __len__(self) -> int:
        return len(self.references[0])

    def overlap_with(self, seen: Seen | None) -> Overlap | None:
        if seen is None or self.source is None:
            return None
        return find_overlap(seen, self.source, self.references, self.lines)

    def references_each(self) -> tuple[int, int]:
        """The smallest and the largest number of references of a sentence."""
        counts = [len(present(each)) for each in zip(*self.references, strict=True)]
        return min(counts), max(counts)


def merge_same_sources(sentences: Sentences) -> tuple[Sentences, list[int]]:
    """Merge lines with the same source into one sentence with all their references; also the sentence of each line."""
    if sentences.source is None:
        raise ValueError("the sources must be known")
    places: dict[str, int] = {}
    belongs = [places.setdefault(source, len(places)) for source in sentences.source]
    found: list[dict[str, None]] = [{} for _ in places]  # in order, without duplicates
    for place, references in zip(belongs, zip(*sentences.references, strict=True), strict=True):
        found[place].update(dict.fromkeys(present(references)))
    most = max(map(len, found))
    rows = [[*each, *[None] * (most - len(each))] for each in found]
    columns = [list(column) for column in zip(*rows, strict=True)]
    first = {place: line for line, place in reversed([*enumerate(belongs, 1)])}
    lines = [first[place] for place in range(len(places))]
    return Sentences(source=list(places), references=columns, lines=lines), belongs


@dataclass(frozen=True, kw_only=True)
class Against:
    """Another system on the same sentences."""

    scores: TranslationScores
    differences: dict[str, Difference]
    overlap: Overlap | None


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    scores: TranslationScores
    by_length: list[LengthBucket]
    worst: list[WorstSentence]
    overlap: Overlap | None  # None if the training data are unknown
    without_seen: TranslationScores | None  # None if no sentence, or every sentence, was seen in training
    against: Against | None = None

    def to_dict(self, model: str, against: str) -> dict[str, Any]:
        """`model` and `against` name the two systems in the sentences about their differences."""
        scores = self.scores.to_dict()
        return {
            "sentences": scores.pop("sentences"),
            "scores": scores,
            "by_length": [bucket.to_dict() for bucket in self.by_length],
            "worst": [sentence.to_dict() for sentence in self.worst],
            "against": against_to_dict(self.against, model, against),
            "overlap": overlap_to_dict(self.overlap, self.without_seen),
        }


def against_to_dict(against: Against | None, model: str, other: str) -> dict[str, Any] | None:
    if against is None:
        return None
    scores = against.scores.to_dict()
    scores.pop("sentences")
    return {
        "scores": scores,
        "differences": {
            name: {**each.to_dict(), "meaning": each.meaning(model, other)}
            for name, each in against.differences.items()
        },
        "overlap": None if against.overlap is None else against.overlap.to_dict(),
    }


def overlap_to_dict(overlap: Overlap | None, without: TranslationScores | None) -> dict[str, Any] | None:
    if overlap is None:
        return None
    return {**overlap.to_dict(), "scores_without": None if without is None else without.to_dict()}


def steps_of(compared: bool, overlap: Overlap | None) -> int:
    """How often `evaluate` calls `done`: three metrics at a time, and two analyses of sentences."""
    return 3 + 2 + (3 if compared else 0) + (3 if overlap is not None and overlap.is_partial() else 0)


def evaluate(
    scorer: Scorer,
    hypotheses: Sequence[str],
    sentences: Sentences,
    *,
    overlap: Overlap | None = None,
    others: Sequence[str] | None = None,
    others_overlap: Overlap | None = None,
    most_worst: int = WORST,
    done: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Score one system, and compare it with another if there is one."""
    references = sentences.references
    against = None
    if others is None:
        scores = scorer.score_fully(hypotheses, *references, done=done)
    else:
        comparison = compare(scorer, hypotheses, others, references, done)
        scores = comparison.scores
        against = Against(
            scores=comparison.other_scores, differences=comparison.differences, overlap=others_overlap
        )
    measured_on = present(references[0]) if sentences.source is None else sentences.source
    buckets = by_length(scorer, hypotheses, references, measured_on)
    done(1)
    lowest = worst(scorer, hypotheses, references, sentences.source, lines=sentences.lines, most=most_worst)
    done(1)
    without = None
    if overlap is not None and overlap.is_partial():
        rest = [overlap.unseen_of(each) for each in references]
        without = scorer.score_fully(overlap.unseen_of(hypotheses), *rest, done=done)
    return Evaluation(
        scores=scores,
        by_length=buckets,
        worst=lowest,
        overlap=overlap,
        without_seen=without,
        against=against,
    )
