"""Batches of sentences of similar length, to avoid padding."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def token_batches(
    lengths: Sequence[int], budget: int, seed: int | None, tiebreak: Sequence[int] | None = None
) -> list[list[int]]:
    """Group indices into batches of at most `budget` tokens, including padding.

    For pairs of texts, `lengths` are those of the longer text. Indices of equal length are sorted by `tiebreak`, such as the
    difference in length of the two texts: ascending for one length and descending for the next, so that neighbors are
    similar.

    With a seed, sentences and batches are shuffled; without one, batches are sorted by length. A sentence longer than the
    budget is a batch of its own.
    """
    order = list(range(len(lengths)))
    generator = random.Random(seed)
    if seed is not None:
        generator.shuffle(order)
    if tiebreak is not None:
        order.sort(key=lambda index: tiebreak[index] if lengths[index] % 2 else -tiebreak[index])
    order.sort(key=lambda index: lengths[index])  # stable: equal lengths stay shuffled
    batches: list[list[int]] = []
    batch: list[int] = []
    for index in order:
        # Lengths are sorted, so the newest is the longest.
        if batch and lengths[index] * (len(batch) + 1) > budget:
            batches.append(batch)
            batch = []
        batch.append(index)
    if batch:
        batches.append(batch)
    if seed is not None:
        generator.shuffle(batches)
    return batches


def pad_rows(rows: Sequence[Sequence[int]], pad: int) -> "Tensor":
    """Rows of different lengths as one tensor, padded at the end.  (B, T)"""
    import torch  # only training and torch models need it

    width = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
