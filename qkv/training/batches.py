"""The interface of training data."""

from collections.abc import Sequence
from typing import Any, Protocol


class Data(Protocol):
    """Batches by epoch. Their order and content depend only on the seed.

    `batch` and `tokens` refer to the last call of `epoch`.
    """

    def epoch(self, seed: int) -> Sequence[list[int]]: ...

    def batch(self, rows: list[int]) -> Any: ...

    def __len__(self) -> int: ...

    def tokens(self, rows: list[int]) -> int: ...  # target tokens without padding
