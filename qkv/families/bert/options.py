"""The options of filling masks and of embedding, each stated once.

The fields are the flags of `qkv fill` and `qkv embed` and the keyword arguments of `Bert.fill` and `Bert.embed`.
"""

from dataclasses import dataclass
from typing import Literal

from qkv.errors import check_rules

Pooling = Literal["mean", "first"]
"""A text's vector: the mean of the states of its tokens, or the state of its first token, [CLS]."""


@dataclass(frozen=True, kw_only=True)
class FillOptions:
    """How masked words are filled in.

    Example:
        >>> [guesses] = qkv.load("runs/bert").fill("one [MASK] three", qkv.FillOptions(top_k=3))
        >>> len(guesses)
        3
    """

    top_k: int = 5
    """Words to show for each [MASK], the likeliest first."""

    def __post_init__(self) -> None:
        check_rules([("top_k", "must be at least 1", self.top_k >= 1)])


@dataclass(frozen=True, kw_only=True)
class EmbeddingOptions:
    """How texts become vectors.

    Example:
        >>> vector = qkv.load("runs/bert").embed("one two", qkv.EmbeddingOptions(pooling="first"))
        >>> round(float(vector @ vector), 3)  # its length is 1 unless it is raw
        1.0
    """

    pooling: Pooling | None = None
    """A text's vector is the mean of its tokens' states, or the state of its first token. By default the model's own."""
    raw: bool = False
    """Do not scale the vectors to length 1."""
