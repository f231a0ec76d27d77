"""Pictures as batches for training: what every model of pictures shares."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from qkv.data.images import Bytes
from qkv.data.labelled_pictures import Labelled
from qkv.errors import UserError


class Rows:
    """Rows of a data set in batches of one size; their order is a function of the epoch's seed (see loop.Data).

    `make` is given the rows of a batch and the seed of their epoch.
    """

    def __init__(
        self,
        count: int,
        at_once: int,
        pieces: int,  # that a row counts as, such as its patches
        make: Callable[[list[int], int], Any],
        *,
        shuffled: bool,
    ):
        self.count, self.at_once, self.pieces = count, max(1, at_once), pieces
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
        # The last one of a few rows would weigh as much as a whole one.
        if self.shuffled and len(batches) > 1 and len(batches[-1]) < self.at_once:
            batches.pop()
        return batches

    def batch(self, rows: list[int]) -> Any:
        return self.make(rows, self.seed)

    def tokens(self, rows: list[int]) -> int:
        return len(rows) * self.pieces


def hold_out(count: int, number: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to train on, and rows held out, drawn by the seed."""
    if count < 10:
        raise UserError(f"{count} pictures are too few to hold some out. Give at least ten.")
    order = np.random.default_rng(seed).permutation(count)
    return np.sort(order[number:]), np.sort(order[:number])


def split(given: Labelled, number: int, seed: int) -> tuple[Labelled, Labelled]:
    train, valid = hold_out(len(given), number, seed)
    return given.take(train), given.take(valid)


def hash_of(*arrays: Bytes | NDArray[np.int64], words: Sequence[str] = ()) -> str:
    digest = sha256("\0".join(words).encode())
    for array in arrays:
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
