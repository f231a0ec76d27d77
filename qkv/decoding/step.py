"""All that decoding knows of a model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor


class Step(Protocol):
    """One decoding of a batch: the newest ids in, logits of what comes next out."""

    def __call__(self, ids: Tensor) -> Tensor: ...  # (B, T) -> (B, V)

    def select(self, rows: Tensor) -> None: ...  # keep these rows, in this order


class AttendingStep(Step, Protocol):
    """A step that also tells where the newest ids have looked; a place that is padding counts as fully seen."""

    @property
    def attention(self) -> Tensor: ...  # (B, S) of the last call, the real places of a row add up to 1


@dataclass(frozen=True)
class Hypothesis:
    ids: list[int]  # without the start and without the end
    score: float  # log-probability, the end included, over the length penalty
    finished: bool  # False: cut off at the limit
    log_probabilities: list[float] = field(
        default_factory=list
    )  # of each id, and of the end where it was reached


class Without:
    """A step that never says one id, such as one that fills up rows: the others share its probability."""

    def __init__(self, step: Step, id: int):
        self.step, self.id = step, id

    def __call__(self, ids: Tensor) -> Tensor:
        logits = self.step(ids)
        return logits.index_fill(-1, torch.tensor([self.id], device=logits.device), float("-inf"))

    def select(self, rows: Tensor) -> None:
        self.step.select(rows)

    @property
    def attention(self) -> Tensor:
        looking: AttendingStep = self.step  # type: ignore[assignment]  # who asks has begun such a step
        return looking.attention


class Ensemble:
    """Several models with one vocabulary as one: the mean of their probabilities."""

    def __init__(self, steps: Sequence[Step]):
        if not steps:
            raise ValueError("an ensemble has at least one model")
        self.steps = steps

    def __call__(self, ids: Tensor) -> Tensor:
        each = torch.stack([step(ids).float().log_softmax(-1) for step in self.steps])  # (models, B, V)
        return each.logsumexp(0)  # a constant too much, which logits may have

    def select(self, rows: Tensor) -> None:
        for step in self.steps:
            step.select(rows)
