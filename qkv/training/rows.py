"""Training data that is rows of equal size, such as images."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch


class Rows:
    """Rows of a data set in batches of equal size, in an order that the epoch's seed determines (see loop.Data).

    `make` builds a batch from its rows and the seed of the epoch.
    """

    def __init__(
        self,
        count: int,
        at_once: int,
        tokens_per_row: int,  # such as patches
        make: Callable[[list[int], int], Any],
        *,
        shuffled: bool,
    ):
        self.count, self.at_once, self.tokens_per_row = count, max(1, at_once), tokens_per_row
        self.make, self.shuffled = make, shuffled
        self.seed = 0

    def __len__(self) -> int:
        return self.count

    def epoch(self, seed: int) -> Sequence[list[int]]:
        self.seed = seed
        order = np.arange(self.count)
        if self.shuffled:
            order = torch.randperm(self.count, generator=torch.Generator().manual_seed(seed)).numpy()
        batches = [
            order[start : start + self.at_once].tolist() for start in range(0, self.count, self.at_once)
        ]
        # A last batch of a few rows would count as much as a full one.
        if self.shuffled and len(batches) > 1 and len(batches[-1]) < self.at_once:
            batches.pop()
        return batches

    def batch(self, rows: list[int]) -> Any:
        return self.make(rows, self.seed)

    def tokens(self, rows: list[int]) -> int:
        return len(rows) * self.tokens_per_row
