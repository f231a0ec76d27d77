"""Greedy decoding: the likeliest token at every step."""

from collections.abc import Sequence

from qkv.decoding.arrays import Array, arrays_of
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import Rule
from qkv.decoding.step import Step
from qkv.decoding.walk import gather_hypotheses, walk


def greedy(step: Step, start: Array, end: int, limits: Array, rules: Sequence[Rule] = ()) -> list[Hypothesis]:
    """One hypothesis per row. start (B) is the first id of each row, limits (B) the maximum lengths."""
    with arrays_of(start).inference():
        return gather_hypotheses(walk(step, start, end, limits, likeliest, rules), len(start), end)


def likeliest(scores: Array, length: int, rows: Array) -> Array:
    return scores.argmax(axis=-1)
