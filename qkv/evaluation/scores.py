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


def score_translations(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> TranslationScores:
    """Corpus scores of one hypothesis and one reference a sentence."""
    from sacrebleu.metrics import BLEU, CHRF

    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} translations cannot be scored against {len(references)} references."
        )
    if not hypotheses:
        raise UserError("there is nothing to score.")
    known = [name for name in BLEU.TOKENIZERS if name]
    if tokenize not in known:
        raise UserError(f"sacrebleu has no tokenizer '{tokenize}'; it has {', '.join(known)}.")
    # force: tokenised text scored with "none" is what the caller asked for, sacrebleu need not warn of it
    bleu, chrf = BLEU(tokenize=tokenize, lowercase=lowercase, force=True), CHRF(lowercase=lowercase)
    exact = sum(h == r for h, r in zip(hypotheses, references, strict=True))
    return TranslationScores(
        sentences=len(hypotheses),
        bleu=measured(bleu, hypotheses, references),
        chrf=measured(chrf, hypotheses, references),
        exact_match=100 * exact / len(hypotheses),
    )


def measured(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(value=float(value), signature=str(metric.get_signature()))
