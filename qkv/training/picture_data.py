"""Batches of images for training, shared by all image models."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from qkv.data.images import Bytes
from qkv.data.labelled_pictures import Labelled, hold_out


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


def split(given: Labelled, number: int, seed: int) -> tuple[Labelled, Labelled]:
    train, valid = hold_out(len(given), number, seed)
    return given.take(train), given.take(valid)


def hash_of(*arrays: Bytes | NDArray[np.int64], words: Sequence[str] = ()) -> str:
    digest = sha256("\0".join(words).encode())
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
