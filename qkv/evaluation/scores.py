"""BLEU, chrF and TER by sacrebleu with their signatures and intervals, and the share of exact matches."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qkv.environment import with_variable
from qkv.errors import QkvError

SAMPLES = 1_000  # of the bootstrap: sacrebleu's own number
SEED = "12345"  # sacrebleu's own default; fixed, so that the same files always give the same intervals
MEMORY = (
    10_000_000  # sentences in all samples together, which sacrebleu holds in memory at once: under a gigabyte
)

# A list for each file; None for a sentence with fewer references than others.
References = Sequence[Sequence[str | None]]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The 95 % confidence interval by bootstrap resampling."""

    mean: float
    low: float
    high: float
    samples: int


class Score(float):
    """A corpus score. It is a number, with sacrebleu's signature and, if it was computed, the 95 % interval.

    Example:
        >>> report = qkv.evaluate(["the cat danced"], reference=["the cat danced"])
        >>> report.chrf > 99
        True
        >>> report.chrf.signature
        'nrefs:1|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0'
    """

    signature: str
    """How it was measured, as sacrebleu writes it."""
    interval: Interval | None
    """The 95 % confidence interval."""

    def __new__(cls, value: float, signature: str, interval: Interval | None = None) -> "Score":
        score = super().__new__(cls, value)
        score.signature, score.interval = signature, interval
        return score

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def __getnewargs__(self) -> tuple[float, str, Interval | None]:  # type: ignore[override]  # for pickle and copy
        return float(self), self.signature, self.interval

    def __repr__(self) -> str:
        within = "" if self.interval is None else f", {self.interval.low:.2f} to {self.interval.high:.2f}"
        return f"Score({float(self):.2f}{within})"

    def to_dict(self) -> dict[str, Any]:
        """The value, the signature and the interval, for JSON."""
        found: dict[str, Any] = {"value": float(self), "signature": self.signature}
        return found if self.interval is None else {**found, "interval": asdict(self.interval)}


@dataclass(frozen=True, kw_only=True)
class TranslationScores:
    sentences: int
    bleu: Score
    chrf: Score
    ter: Score | None = None
    exact_match: float  # percent

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without scores that were not computed."""
        return {
            name: value.to_dict() if isinstance(value, Score) else value
            for name, value in vars(self).items()
            if value is not None
        }


@dataclass(frozen=True)
class Scorer:
    """sacrebleu's metrics, created before the work starts, so that a wrong choice is reported at once."""

    bleu: Any
    chrf: Any
    ter: Any
    tokenize: str
    lowercase: bool

    @classmethod
    def make(cls, *, tokenize: str = "13a", lowercase: bool = False) -> "Scorer":
        from sacrebleu.metrics import BLEU, CHRF, TER

        known = [name for name in BLEU.TOKENIZERS if name]
        if tokenize not in known:
            raise QkvError(f"sacrebleu has no tokenizer '{tokenize}'; it has {', '.join(known)}.")
        try:
            # force: no warning about tokenized text, which the caller requested
            bleu = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
        except (ImportError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise QkvError(f"sacrebleu's tokenizer '{tokenize}' cannot be used here: {reason}") from None
        return cls(bleu, CHRF(lowercase=lowercase), TER(), tokenize, lowercase)

    def score(self, hypotheses: Sequence[str], *references: Sequence[str | None]) -> TranslationScores:
        """Quick corpus scores, with one or more references per sentence: no TER, no intervals.

        White space around a sentence does not count.
        """
        check_lengths(hypotheses, references)
        return TranslationScores(
            sentences=len(hypotheses),
            bleu=corpus_score(self.bleu, hypotheses, references),
            chrf=corpus_score(self.chrf, hypotheses, references),
            exact_match=self.exact_match(hypotheses, references),
        )

    def score_fully(
        self,
        hypotheses: Sequence[str],
        *references: Sequence[str | None],
        done: Callable[[int], None] | None = None,
    ) -> TranslationScores:
        """The same with TER and with bootstrap intervals. `done` is called after each metric."""
        check_lengths(hypotheses, references)
        scores = {}
        for name, metric in self.metrics().items():
            (tested,) = bootstrap(metric, [hypotheses], references)
            scores[name] = tested.score
            if done is not None:
                done(1)
        return self.combine(scores, hypotheses, references)

    def combine(
        self, scores: dict[str, Score], hypotheses: Sequence[str], references: References
    ) -> TranslationScores:
        exact = self.exact_match(hypotheses, references)
        return TranslationScores(sentences=len(hypotheses), exact_match=exact, **scores)

    def metrics(self) -> dict[str, Any]:
        return {"bleu": self.bleu, "chrf": self.chrf, "ter": self.ter}

    def exact_match(self, hypotheses: Sequence[str], references: References) -> float:
        """Percent of the hypotheses that are equal to any of their references."""
        exact = sum(
            any(self.same(hypothesis, reference) for reference in present(aligned))
            for hypothesis, *aligned in zip(hypotheses, *references, strict=True)
        )
        return 100 * exact / len(hypotheses)

    def same(self, hypothesis: str, reference: str) -> bool:
        hypothesis, reference = hypothesis.strip(), reference.strip()
        return hypothesis == reference or (self.lowercase and hypothesis.lower() == reference.lower())


def present(references: Sequence[str | None]) -> list[str]:
    return [reference for reference in references if reference is not None]


def score_translations(hypotheses: Sequence[str], references: Sequence[str]) -> TranslationScores:
    """The scores in reports, with sacrebleu's defaults."""
    return Scorer.make().score(hypotheses, references)


def check_lengths(hypotheses: Sequence[str], references: References) -> None:
    for each in references:
        if len(hypotheses) != len(each):
            raise QkvError(f"{len(hypotheses)} translations do not match {len(each)} references.")
    if not hypotheses or not references:
        raise QkvError("there are no translations to score.")


def corpus_score(metric: Any, hypotheses: Sequence[str], references: References) -> Score:
    score = metric.corpus_score(list(hypotheses), [list(each) for each in references])
    return Score(value=float(score.score), signature=str(metric.get_signature()))


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A system's score with its interval, and its p-value against the first system."""

    score: Score
    p_value: float | None


def bootstrap(metric: Any, systems: Sequence[Sequence[str]], references: References) -> list[Tested]:
    """sacrebleu's paired bootstrap of one or more systems; the first is the baseline.

    Used for one system too, because `corpus_score(…, n_bootstrap)` fails if a sample's chrF is 0.
    """
    from sacrebleu.significance import PairedTest

    samples = samples_for(len(systems[0]))
    with with_variable("SACREBLEU_SEED", SEED):  # the user may have set it to "none"
        test = PairedTest(
            [(f"system {number}", list(hypotheses)) for number, hypotheses in enumerate(systems)],
            {"measure": metric},
            [list(each) for each in references],  # type: ignore[arg-type]  # None is allowed, as its documentation says
            test_type="bs",
            n_samples=samples,
            n_jobs=1,
        )
        signatures, results = test()
    (name,) = signatures  # sacrebleu's own name of the metric
    tested: list[Any] = results[name]
    return [
        Tested(
            score=Score(
                value=float(result.score),
                signature=str(signatures[name]),
                interval=interval_of(metric, result, samples),
            ),
            p_value=None if result.p_value is None else float(result.p_value),
        )
        for result in tested
    ]


def interval_of(metric: Any, result: Any, samples: int) -> Interval:
    """From sacrebleu's mean and half-width, clipped to the scale, which has no upper end for TER."""
    mean, half = float(result.mean), float(result.ci)
    top = math.inf if type(metric).__name__ == "TER" else 100.0
    return Interval(mean=mean, low=max(0.0, mean - half), high=min(top, mean + half), samples=samples)


def samples_for(sentences: int) -> int:
    """Fewer samples for a very large test set; the signature states the number."""
    return min(SAMPLES, max(100, MEMORY // sentences))
