"""The report on translations, and the comparison of two systems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from qkv.evaluation.display import Display
from qkv.evaluation.evaluation import Against, Evaluation, Sentences, against_to_dict
from qkv.evaluation.overlap import Overlap
from qkv.evaluation.report import Report
from qkv.evaluation.scores import Score, TranslationScores
from qkv.evaluation.sentences import LengthBucket, WorstSentence
from qkv.evaluation.significance import Difference


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured, and how."""

    sentences: Sentences
    belongs: list[int]
    """The sentence of each line: several lines with the same source can be one sentence."""
    facts: dict[str, Any]
    names: tuple[str, str]
    compare: Callable[[TranslationReport, Any, Display], TranslationComparison]


class TranslationReport(Report):
    """Scores of translations, from `qkv.evaluate`.

    Example:
        >>> translations = ["the cat danced", "the dogs slept"]
        >>> report = qkv.evaluate(translations, reference=["the cat danced", "the dog slept"])
        >>> report.exact_match
        50.0
        >>> report.chrf > 50
        True
        >>> report.worst[0].translation
        'the dogs slept'
    """

    translations: list[str]
    """One translation for each sentence."""

    def __init__(self, evaluation: Evaluation, translations: list[str], measured: Measured):
        self._evaluation, self._measured = evaluation, measured
        self.translations = translations

    @property
    def measured(self) -> Measured:
        """How it was measured: settings of the search and of the scores."""
        return self._measured

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self._evaluation.scores.sentences

    @property
    def bleu(self) -> Score:
        """BLEU by sacrebleu. It is a number; `.interval` and `.signature` say more."""
        return self._evaluation.scores.bleu

    @property
    def chrf(self) -> Score:
        """chrF by sacrebleu."""
        return self._evaluation.scores.chrf

    @property
    def ter(self) -> Score:
        """TER by sacrebleu; lower is better."""
        score = self._evaluation.scores.ter
        assert score is not None
        return score

    @property
    def exact_match(self) -> float:
        """The percentage of translations that are equal to a reference."""
        return self._evaluation.scores.exact_match

    @property
    def by_length(self) -> list[LengthBucket]:
        """Scores of short and long sentences."""
        return self._evaluation.by_length

    @property
    def worst(self) -> list[WorstSentence]:
        """The sentences with the lowest chrF, worst first."""
        return self._evaluation.worst

    @property
    def overlap(self) -> Overlap | None:
        """The test sentences that occur in the model's training data; None if the training data are unknown."""
        return self._evaluation.overlap

    @property
    def unseen(self) -> TranslationScores | None:
        """Scores without the sentences of `overlap`; None if there are none, or no others."""
        return self._evaluation.without_seen

    @property
    def against(self) -> TranslationComparison | None:
        """The comparison with the system that was given as `against`."""
        found = self._evaluation.against
        if found is None:
            return None
        return TranslationComparison(against=found, names=self._measured.names, overlap=self.overlap)

    def compare(self, other: Any, *, progress: bool = True) -> TranslationComparison:
        """Compare with another system on the same sentences, by paired bootstrap resampling.

        Args:
            other: A translator or its folder, another report, or translations: a list, a column or a file.
            progress: Show a progress bar if it takes a while.

        Returns:
            The differences in BLEU, chrF and TER, each with its p-value.

        Example:
            >>> references = ["the cat danced", "the dog slept"] * 30
            >>> report = qkv.evaluate(["the cat danced", "the dog slept"] * 30, reference=references)
            >>> comparison = report.compare(["a cat danced", "the dog sleeps"] * 30)
            >>> comparison.chrf.clear
            True
            >>> print(comparison.chrf.meaning("this", "that").split(":")[0])
            this is better than that by 26.49 chrF
        """
        from qkv.progress.display import python_display

        return self._measured.compare(self, other, python_display(progress))

    def to_dict(self) -> dict[str, Any]:
        """All scores, as the JSON document of `qkv evaluate`."""
        return {**self._evaluation.to_dict(*self._measured.names), "measured": self._measured.facts}

    def __str__(self) -> str:
        return self.page(terminal=False)

    def page(self, *, terminal: bool) -> str:
        """What `qkv evaluate` prints. Only a terminal gets colors and its own width."""
        from qkv.families.translator.score_tables import page

        return page(self._evaluation, self._measured.facts, self._measured.names, terminal=terminal)

    def _repr_html_(self) -> str:
        from qkv.families.translator.score_html import report_html

        return report_html(self._evaluation, self._measured.facts, self._measured.names)


@dataclass(frozen=True, kw_only=True, repr=False)
class TranslationComparison:
    """Two systems on the same sentences: how they differ, and whether that may be chance.

    Example:
        >>> references = ["the cat danced", "the dog slept"] * 30
        >>> report = qkv.evaluate(references, reference=references)
        >>> report.compare(references).bleu.difference
        0.0
    """

    against: Against = field(repr=False)
    names: tuple[str, str]
    """Of the two systems."""
    overlap: Overlap | None = None

    @property
    def bleu(self) -> Difference:
        """The difference in BLEU: `difference`, `p_value`, and `clear` if it is unlikely to be chance."""
        return self.against.differences["bleu"]

    @property
    def chrf(self) -> Difference:
        """The difference in chrF."""
        return self.against.differences["chrf"]

    @property
    def ter(self) -> Difference:
        """The difference in TER; lower is better."""
        return self.against.differences["ter"]

    @property
    def scores(self) -> TranslationScores:
        """The scores of the other system."""
        return self.against.scores

    def to_dict(self) -> dict[str, Any]:
        """As the part "against" of the JSON document of `qkv evaluate`."""
        found = against_to_dict(self.against, *self.names)
        assert found is not None
        return found

    def __str__(self) -> str:
        from qkv.families.translator.score_tables import comparison_page

        return comparison_page(self.against, self.names, self.overlap)

    def __repr__(self) -> str:
        return f"<TranslationComparison>\n{self}"

    def _repr_html_(self) -> str:
        from qkv.families.translator.score_html import comparison_html

        return comparison_html(self.against, self.names, self.overlap)
