"""How surprised a language model is by a text, in units that can be compared between vocabularies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Surprise:
    """The negative log-probability of a text in nats, and what it is shared among."""

    nats: float
    tokens: int
    words: int  # between spaces
    bytes: int  # of UTF-8

    @classmethod
    def of(cls, texts: Sequence[str], nats: float, tokens: int) -> "Surprise":
        words, size = (
            sum(map(len, each)) for each in zip(*((t.split(), t.encode()) for t in texts), strict=True)
        )
        return cls(nats=nats, tokens=tokens, words=words, bytes=size)

    @property
    def per_token(self) -> float:
        return self.nats / self.tokens

    @property
    def bits_per_byte(self) -> float:
        """The one figure that is the same for models of any vocabulary."""
        return self.nats / self.bytes / math.log(2)

    def to_dict(self) -> dict[str, Any]:
        per_word = self.nats / max(1, self.words)
        return {
            "tokens": self.tokens,
            "words": self.words,
            "bytes": self.bytes,
            "loss_per_token": round(self.per_token, 4),
            "perplexity_per_token": rounded(self.per_token),
            "perplexity_per_word": rounded(per_word),
            "bits_per_byte": round(self.bits_per_byte, 4),
        }


def rounded(nats: float) -> float | None:
    """The perplexity of so many nats; None where it is beyond all numbers."""
    try:
        return round(math.exp(nats), 3)
    except OverflowError:
        return None
