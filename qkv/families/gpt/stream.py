"""Batches of windows over a stream of tokens (implements the loop's Data protocol)."""

import random
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qkv.data.windows import Window, windows_of
from qkv.families.gpt.model import TextBatch

Stream = Callable[[int], NDArray[np.int64]]  # the tokens of the epoch with this seed


class StreamData:
    """Every token is predicted once per epoch. If shuffled, each epoch has different windows."""

    def __init__(self, stream: Stream, context: int, batch_tokens: int, *, shuffled: bool):
        self.stream, self.context, self.shuffled = stream, context, shuffled
        self.rows = max(1, batch_tokens // context)
        self.ids = stream(0)
        self.windows: list[Window] = windows_of(len(self.ids), context, context)

    def __len__(self) -> int:
        """The number of tokens predicted per epoch."""
        return len(self.ids) - 1

    def epoch(self, seed: int) -> list[list[int]]:
        generator = random.Random(seed)
        if self.shuffled:
            self.ids = self.stream(seed)
            self.windows = windows_of(len(self.ids), self.context, generator.randint(1, self.context))
        order = list(range(len(self.windows)))
        if self.shuffled:
            generator.shuffle(order)
        return [order[start : start + self.rows] for start in range(0, len(order), self.rows)]

    def batch(self, rows: list[int]) -> TextBatch:
        chosen = [self.windows[row] for row in rows]
        return TextBatch.of([self.ids[first : last + 1] for first, last in chosen], pad=0)

    def tokens(self, rows: list[int]) -> int:
        return sum(last - first for first, last in (self.windows[row] for row in rows))
