"""The settings of a beam search. They need no array library."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

LengthPenalty = Callable[[int], float]
"""The divisor of a log-probability by length, including the end token. It never falls as the length grows."""


def paper_penalty(alpha: float) -> LengthPenalty:
    """Wu et al. 2016, equation 14, which the Transformer's paper uses."""
    return lambda length: ((5 + length) / 6) ** alpha


def power_penalty(alpha: float) -> LengthPenalty:
    """A power of the length, as in Marian, fairseq and Hugging Face transformers."""
    return lambda length: float(length**alpha)


def power_penalty_without_end(alpha: float) -> LengthPenalty:
    """A power of the length without the end token, as in CTranslate2."""
    return lambda length: float(max(1, length - 1) ** alpha)


LengthNorm = Literal["paper", "length", "length without end"]
"""How the length penalty grows with the length."""
PENALTIES: dict[LengthNorm, Callable[[float], LengthPenalty]] = {
    "paper": paper_penalty, "length": power_penalty, "length without end": power_penalty_without_end
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Beam:
    """The settings of a beam search."""

    width: int
    penalty: LengthPenalty
    best: int = 1
    """Number of hypotheses per sentence."""
    patience: float | None = None
    """Stop when this many times the width have finished (Kasai et al. 2022); by default, when nothing can change."""
    coverage: float = 0.0
    """Weight of the coverage penalty (Wu et al. 2016): source words with little attention lower the score."""

    def __post_init__(self) -> None:
        if self.width < 1 or self.best < 1:
            raise ValueError("beam width and number of hypotheses must be at least 1")
        if (self.patience is not None and not self.patience > 0) or not self.coverage >= 0:
            raise ValueError("patience must be above 0 and the coverage penalty not negative")
        if not math.isfinite(self.penalty(1)) or self.penalty(2) < self.penalty(1):
            raise ValueError("the length penalty must not be negative")

    @property
    def enough_ended(self) -> int | None:
        """The number of finished hypotheses at which to stop."""
        return None if self.patience is None else math.ceil(self.patience * self.width)

    def has_patience(self, ended: int) -> bool:
        return self.enough_ended is None or ended < self.enough_ended
