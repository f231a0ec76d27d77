"""BLEU and chrF by sacrebleu with their signatures, and the share of exact matches."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qkv.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Score:
    value: float
    signature: str


@dataclass(frozen=True, kw_only=True)
class TranslationScores:
    sentences: int
    bleu: Score
    chrf: Score
    exact_match: float  # percent

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Scorer:
    """sacrebleu's metrics, made before the work is done, so that a wrong choice is seen at once."""

    bleu: Any
    chrf: Any
    lowercase: bool

    @classmethod
    def make(cls, *, tokenize: str = "13a", lowercase: bool = False) -> "Scorer":
        from sacrebleu.metrics import BLEU, CHRF

        known = [name for name in BLEU.TOKENIZERS if name]
        if tokenize not in known:
            raise UserError(f"sacrebleu has no tokenizer '{tokenize}'; it has {', '.join(known)}.")
        try:
            # force: tokenised text scored with "none" is what the caller asked for, no warning is needed
            bleu = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
        except (ImportError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise UserError(f"sacrebleu's tokenizer '{tokenize}' cannot be used here: {reason}") from None
        return cls(bleu, CHRF(lowercase=lowercase), lowercase)

    def score(self, hypotheses: Sequence[str], references: Sequence[str]) -> TranslationScores:
        """Corpus scores of one hypothesis and one reference a sentence; white space around them does not count."""
        if len(hypotheses) != len(references):
            raise UserError(
                f"{len(hypotheses)} translations cannot be scored against {len(references)} references."
            )
        if not hypotheses:
            raise UserError("there is nothing to score.")
        exact = sum(self.same(h, r) for h, r in zip(hypotheses, references, strict=True))
        return TranslationScores(
            sentences=len(hypotheses),
            bleu=measured(self.bleu, hypotheses, references),
            chrf=measured(self.chrf, hypotheses, references),
            exact_match=100 * exact / len(hypotheses),
        )

    def same(self, hypothesis: str, reference: str) -> bool:
        hypothesis, reference = hypothesis.strip(), reference.strip()
        return hypothesis == reference or (self.lowercase and hypothesis.lower() == reference.lower())


def score_translations(hypotheses: Sequence[str], references: Sequence[str]) -> TranslationScores:
    """The scores that reports give: sacrebleu's defaults."""
    return Scorer.make().score(hypotheses, references)


def measured(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(value=float(value), signature=str(metric.get_signature()))
