"""All that decoding knows of a model."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


class Step(Protocol):
    """One decoding of a batch: the newest ids in, logits of what comes next out."""

    def __call__(self, ids: Tensor) -> Tensor: ...  # (B, T) -> (B, V)

    def select(self, rows: Tensor) -> None: ...  # keep these rows, in this order


@dataclass(frozen=True)
class Hypothesis:
    ids: list[int]  # without the start and without the end
    score: float  # log-probability, the end included, over the length penalty
    finished: bool  # False: cut off at the limit
