"""Greedy decoding: the likeliest token at every step."""

from collections.abc import Sequence

import torch
from torch import Tensor

from qkv.decoding.rules import Rule
from qkv.decoding.step import Hypothesis, Step
from qkv.decoding.walk import gathered, walk


@torch.inference_mode()
def greedy(
    step: Step, start: Tensor, end: int, limits: Tensor, rules: Sequence[Rule] = ()
) -> list[Hypothesis]:
    """One hypothesis per row. start (B) is the first id of each row, limits (B) the maximum lengths."""
    return gathered(walk(step, start, end, limits, likeliest, rules), len(start), end)


def likeliest(scores: Tensor, length: int, rows: Tensor) -> Tensor:
    return scores.argmax(dim=-1)
