"""Is one system better than another, or is it the choice of test sentences? sacrebleu's paired bootstrap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qkv.evaluation.scores import (
    SAMPLES,
    References,
    Scorer,
    Tested,
    TranslationScores,
    bootstrap,
    check_lengths,
    samples_for,
)

# sacrebleu's test counts the differences on one side alone, although the data choose the side: with 0.05, one in
# nine pairs of equally good systems would be told apart, with 0.025 one in twenty.
CLEAR = 0.025
FEWEST = 50  # sentences: of so few, resampling shows too little of what other sentences would do
NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One measure of two systems on the same sentences."""

    measure: str
    model: float
    against: float
    p_value: float | None  # None where there are too few sentences to test
    samples: int = SAMPLES  # by which it was found: it is never below 1/(samples + 1)

    @property
    def difference(self) -> float:
        return self.model - self.against

    @property
    def gain(self) -> float:
        """Above zero where the model is the better one: of TER, less is better."""
        return -self.difference if self.measure == "TER" else self.difference

    @property
    def clear(self) -> bool:
        return self.p_value is not None and self.p_value < CLEAR

    def to_dict(self) -> dict[str, Any]:
        values = {"model": self.model, "against": self.against, "difference": self.difference}
        return {**values, "p_value": self.p_value}

    def meaning(self, model: str, against: str) -> str:
        """A sentence that claims no more than the test does."""
        better, worse = (model, against) if self.gain > 0 else (against, model)
        size = f"{abs(self.difference):.2f} {self.measure}"
        if self.difference == 0:
            return f"{model} and {against} have the same {self.measure}."
        if self.p_value is None:
            return (
                f"{better} scores better than {worse} by {size}, "
                f"but fewer than {FEWEST} sentences are too few to tell whether that is chance."
            )
        often = f"in {'about ' if self.p_value > 1.5 / (self.samples + 1) else 'at most '}{1_000 * self.p_value:.0f} of 1,000 test sets"
        claim = (
            f"{better} is better than {worse} by {size}"
            if self.clear
            else f"{better} scores better than {worse} by {size}, which may well be chance"
        )
        return f"{claim}: if the two were equally good, it would lead by so much {often}."


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two systems on the same sentences: the scores of each, and how they differ by BLEU, chrF and TER."""

    scores: TranslationScores
    other_scores: TranslationScores
    differences: dict[str, Difference]


def compare(
    scorer: Scorer,
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: References,
    done: Callable[[int], None] = lambda _: None,
) -> Comparison:
    """Both are scored by the same resampled test sets. `done` is told of each measure of each system."""
    for each in (hypotheses, others):
        check_lengths(each, references)
    scores, other_scores, differences = {}, {}, {}
    for key, metric in scorer.metrics().items():
        against, model = bootstrap(metric, [others, hypotheses], references)
        scores[key], other_scores[key] = model.score, against.score
        differences[key] = Difference(
            measure=NAMES[key],
            model=model.score.value,
            against=against.score.value,
            p_value=p_value(against, model, len(hypotheses)),
            samples=samples_for(len(hypotheses)),
        )
        done(2)
    return Comparison(
        scores=scorer.put_together(scores, hypotheses, references),
        other_scores=scorer.put_together(other_scores, others, references),
        differences=differences,
    )


def p_value(against: Tested, model: Tested, sentences: int) -> float | None:
    """How often resampled test sets give so large a difference where there is none.

    Equal scores never speak against chance, but sacrebleu counts the resampled differences that are larger,
    of which two identical systems have none, and would give 1 in 1,001.
    """
    if sentences < FEWEST:
        return None
    return 1.0 if against.score.value == model.score.value else model.p_value
