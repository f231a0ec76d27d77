"""Batches of sentences of similar length, to avoid padding."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def token_batches(
    lengths: Sequence[int], budget: int, seed: int | None, lean: Sequence[int] | None = None
) -> list[list[int]]:
    """Indices in batches of at most `budget` tokens, padding included.

    If an index stands for several texts, `lengths` has the longest. Indices of the same length are ordered by `lean`,
    such as the difference in length of two texts: ascending, then descending for the next length, so that
    neighbours are similar.

    With a seed, sentences and batches are shuffled; without one, the order is by length. A sentence longer than the budget is a batch of its own.
    """
    order = list(range(len(lengths)))
    generator = random.Random(seed)
    if seed is not None:
        generator.shuffle(order)
    if lean is not None:
        order.sort(key=lambda index: lean[index] if lengths[index] % 2 else -lean[index])
    order.sort(key=lambda index: lengths[index])  # stable: equal lengths stay shuffled
    batches: list[list[int]] = []
    batch: list[int] = []
    for index in order:
        # Sorted, so the newest is the longest and sets the width of the batch.
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
    """Rows of different length as one tensor, padded at the end.  (B, T)"""
    import torch  # only training and torch models need it

    width = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
