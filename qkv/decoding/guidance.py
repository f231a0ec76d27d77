"""Classifier-free guidance (Ho and Salimans, 2022): amplifies the effect of a condition."""

from qkv.decoding.arrays import Array, arrays_of
from qkv.decoding.step import Step


class Guided:
    """Combines two steps of one model, with and without the condition. A weight of 1 uses the first alone."""

    def __init__(self, conditional: Step, unconditional: Step, weight: float):
        self.conditional, self.unconditional, self.weight = conditional, unconditional, weight

    def __call__(self, ids: Array) -> Array:
        log_softmax = arrays_of(ids).log_softmax
        given, free = (log_softmax(step(ids)) for step in (self.conditional, self.unconditional))  # (B, V)
        return free + self.weight * (given - free)

    def select(self, rows: Array) -> None:
        self.conditional.select(rows)
        self.unconditional.select(rows)
