"""Classifier-free guidance (Ho and Salimans, 2022): amplifies the effect of a condition."""

from torch import Tensor

from qkv.decoding.step import Step


class Guided:
    """Combines two steps of one model, with and without the condition. A weight of 1 uses the first alone."""

    def __init__(self, conditional: Step, unconditional: Step, weight: float):
        self.conditional, self.unconditional, self.weight = conditional, unconditional, weight

    def __call__(self, ids: Tensor) -> Tensor:
        given, free = (
            step(ids).float().log_softmax(-1) for step in (self.conditional, self.unconditional)
        )  # (B, V)
        return free + self.weight * (given - free)

    def select(self, rows: Tensor) -> None:
        self.conditional.select(rows)
        self.unconditional.select(rows)
