"""The self-check: recompute every number of a trace from the weights alone, in float64 NumPy.

It shares no code with the model, so a bug there is noticed. Each line is a formula of the decks.
"""

from dataclasses import dataclass

import numpy as np

from qkv.families import bundle_kinds
from qkv.families.family import resolve
from qkv.tracing.formulas import Array
from qkv.tracing.trace import Trace


@dataclass(frozen=True)
class Check:
    """The largest difference between the trace and the second computation."""

    arrays: int
    numbers: int
    largest: float
    where: str


def check(trace: Trace) -> Check:
    again = recompute(trace)
    missing = set(trace.arrays) ^ set(again)
    if missing:
        raise ValueError(f"only one of the two computations has {', '.join(sorted(missing))}")
    largest, where, numbers = 0.0, "", 0
    for name, array in trace.arrays.items():
        difference = distance(array.astype(np.float64), again[name])
        numbers += array.size
        if difference >= largest:
            largest, where = difference, name
    return Check(len(trace.arrays), numbers, largest, where)


def distance(one: Array, other: Array) -> float:
    """The largest difference. Masked scores, minus infinity, must be at the same positions."""
    if one.shape != other.shape or not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return float("inf")
    finite = np.isfinite(one)
    return float(np.abs(one[finite] - other[finite]).max(initial=0.0))


def recompute(trace: Trace) -> dict[str, Array]:
    """All recorded arrays, by the same names."""
    reference = bundle_kinds()[trace.kind].recompute
    if reference is None:
        raise ValueError(f"models of kind '{trace.kind}' have no self-check")
    weights = {name: each.detach().cpu().double().numpy() for name, each in trace.weights.items()}
    found: dict[str, Array] = resolve(reference)(trace, weights)
    return found
