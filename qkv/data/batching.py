"""Sentences of like length together, so that a batch is full of words rather than padding."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor


def token_batches(
    lengths: Sequence[int], budget: int, seed: int | None, lean: Sequence[int] | None = None
) -> list[list[int]]:
    """Indices in batches of at most `budget` tokens, padding included.

    Where an index stands for texts of several lengths, `lengths` has the longest, and those of the same length are
    ordered by `lean`, such as how much longer one text is than the other: up, then down for the next length, so
    that neighbours are alike.

    With a seed, which sentences meet and the order of the batches are shuffled; without one, the
    order is by length. A sentence longer than the budget is a batch of its own.
    """
    order = list(range(len(lengths)))
    generator = random.Random(seed)
    if seed is not None:
        generator.shuffle(order)
    if lean is not None:
        order.sort(key=lambda index: lean[index] if lengths[index] % 2 else -lean[index])
    order.sort(key=lambda index: lengths[index])  # stable: what is alike stays shuffled
    batches: list[list[int]] = []
    batch: list[int] = []
    for index in order:
        # Sorted, so the newest is the longest: it decides how wide the batch is.
        if batch and lengths[index] * (len(batch) + 1) > budget:
            batches.append(batch)
            batch = []
        batch.append(index)
    if batch:
        batches.append(batch)
    if seed is not None:
        generator.shuffle(batches)
    return batches


def pad_rows(rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Rows of different length as one tensor, padded at the end.  (B, T)"""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
