"""Perplexity of a language model, also in units that are comparable between vocabularies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class TextLoss:
    """The negative log-probability of a text in nats, and the units it is divided by."""

    nats: float
    tokens: int
    words: int  # separated by spaces
    bytes: int  # of UTF-8

    @classmethod
    def of(cls, texts: Sequence[str], nats: float, tokens: int) -> "TextLoss":
        words, size = (
            sum(map(len, each)) for each in zip(*((t.split(), t.encode()) for t in texts), strict=True)
        )
        return cls(nats=nats, tokens=tokens, words=words, bytes=size)

    @property
    def per_token(self) -> float:
        return self.nats / self.tokens

    @property
    def bits_per_byte(self) -> float:
        """Comparable between models of any vocabulary."""
        return self.nats / self.bytes / math.log(2)

    def to_dict(self) -> dict[str, Any]:
        per_word = self.nats / max(1, self.words)
        return {
            "tokens": self.tokens,
            "words": self.words,
            "bytes": self.bytes,
            "loss_per_token": round(self.per_token, 4),
            "perplexity_per_token": perplexity_from(self.per_token),
            "perplexity_per_word": perplexity_from(per_word),
            "bits_per_byte": round(self.bits_per_byte, 4),
        }


def perplexity_from(nats: float) -> float | None:
    """The perplexity of this many nats; None if it overflows."""
    try:
        return round(math.exp(nats), 3)
    except OverflowError:
        return None
