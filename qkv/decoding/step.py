"""The interface between decoding and models."""

from collections.abc import Sequence
from typing import Protocol

from qkv.decoding.arrays import Array, arrays_of


class Step(Protocol):
    """One decoding of a batch: takes the newest ids and returns the logits of the next.

    The arrays are NumPy's or torch's, the same for ids and logits. The caller may change the logits.
    """

    def __call__(self, ids: Array) -> Array: ...  # (B, T) -> (B, V)

    def select(self, rows: Array) -> None: ...  # keep these rows, in this order


class AttendingStep(Step, Protocol):
    """A step that also returns the attention of the newest ids. Padding counts as 1."""

    @property
    def attention(self) -> Array: ...  # (B, S) of the last call; without padding, a row adds up to 1


class Without:
    """A step that excludes one id, such as padding: the others share its probability."""

    def __init__(self, step: Step, id: int):
        self.step, self.id = step, id

    def __call__(self, ids: Array) -> Array:
        logits = self.step(ids)
        logits[:, self.id] = float("-inf")
        return logits

    def select(self, rows: Array) -> None:
        self.step.select(rows)

    @property
    def attention(self) -> Array:
        attending: AttendingStep = self.step  # type: ignore[assignment]  # the caller started the step with heads to record
        return attending.attention


class Listed:
    """A step in which every row may use only some ids: the others get no probability."""

    def __init__(self, step: Step, allowed: Array):
        """`allowed` is (B, V), True for the ids that a row may use."""
        self.step, self.allowed = step, allowed

    def __call__(self, ids: Array) -> Array:
        logits = self.step(ids)
        logits[~self.allowed] = float("-inf")
        return logits

    def select(self, rows: Array) -> None:
        self.step.select(rows)
        self.allowed = self.allowed[rows]

    @property
    def attention(self) -> Array:
        attending: AttendingStep = self.step  # type: ignore[assignment]  # the caller started the step with heads to record
        return attending.attention


class Ensemble:
    """Combines models of one vocabulary: the mean of their probabilities."""

    def __init__(self, steps: Sequence[Step]):
        if not steps:
            raise ValueError("an ensemble needs at least one model")
        self.steps = steps

    def __call__(self, ids: Array) -> Array:
        arrays = arrays_of(ids)
        each = arrays.stack([arrays.log_softmax(step(ids)) for step in self.steps])  # (models, B, V)
        return arrays.log_sum_exp(each, 0)  # off by a constant, which does not matter for logits

    def select(self, rows: Array) -> None:
        for step in self.steps:
            step.select(rows)
