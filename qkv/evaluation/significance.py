"""Test whether one system is better than another, by sacrebleu's paired bootstrap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qkv.evaluation.scores import (
    SAMPLES,
    SEED,
    Interval,
    References,
    Scorer,
    Tested,
    TranslationScores,
    bootstrap,
    check_lengths,
    samples_for,
)

# sacrebleu's test is one-sided, although the data choose the side: with 0.05, one in nine pairs of equally good
# systems would count as different, with 0.025 one in twenty.
CLEAR = 0.025
FEWEST = 50  # sentences: resampling fewer says too little about other test sets
NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One metric of two systems on the same sentences."""

    measure: str
    model: float
    against: float
    p_value: float | None  # None if there are too few sentences to test
    samples: int = SAMPLES  # of the bootstrap: the p-value is never below 1/(samples + 1)

    @property
    def difference(self) -> float:
        return self.model - self.against

    @property
    def gain(self) -> float:
        """Above zero if the model is better; for TER, lower is better."""
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
                f"but fewer than {FEWEST} sentences are too few to rule out chance."
            )
        often = f"in {'about ' if self.p_value > 1.5 / (self.samples + 1) else 'at most '}{1_000 * self.p_value:.0f} of 1,000 test sets"
        claim = (
            f"{better} is better than {worse} by {size}"
            if self.clear
            else f"{better} scores better than {worse} by {size}, which may well be chance"
        )
        return (
            f"{claim}: if the two were equally good, a difference this large would occur by chance {often}."
        )


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
    """Both are scored on the same resampled test sets. `done` is called for each metric of each system."""
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
        scores=scorer.combine(scores, hypotheses, references),
        other_scores=scorer.combine(other_scores, others, references),
        differences=differences,
    )


def p_value(against: Tested, model: Tested, sentences: int) -> float | None:
    """How often resampled test sets give a difference this large by chance.

    Equal scores are no evidence, so their p-value is 1. sacrebleu counts larger resampled differences; two identical
    systems have none, and it would give 1 in 1,001.
    """
    if sentences < FEWEST:
        return None
    return 1.0 if against.score.value == model.score.value else model.p_value


def difference_interval(
    metric: Any, hypotheses: Sequence[str], others: Sequence[str], references: References
) -> Interval:
    """The 95 % confidence interval of the difference between two systems, by paired bootstrap.

    Both are scored on the same resampled test sets, so what is difficult for both cancels out. sacrebleu's own test gives the
    interval of each system, but not that of the difference.
    """
    import numpy as np

    samples, count = samples_for(len(hypotheses)), len(hypotheses)
    rows = [list(each) for each in references]
    statistics = [
        np.array(
            metric._extract_corpus_statistics(list(each), rows), dtype=np.float64
        )  # (sentences, numbers)
        for each in (hypotheses, others)
    ]
    chance, differences = np.random.default_rng(int(SEED)), np.empty(samples)
    for sample in range(samples):
        chosen = chance.integers(count, size=count)
        own, other = (metric._compute_score_from_stats(each[chosen].sum(0)).score for each in statistics)
        differences[sample] = own - other
    low, high = np.quantile(differences, [0.025, 0.975])
    return Interval(mean=float(differences.mean()), low=float(low), high=float(high), samples=samples)
