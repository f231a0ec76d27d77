"""Rows of token ids as arrays: all ids one after another, and where each row ends."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[Any]  # uint16 or uint32


class Part(NamedTuple):
    """Some rows that follow each other. They may be mapped from a file."""

    ids: Ids
    ends: NDArray[np.int64]  # of each row in `ids`


class TokenRows:
    """All rows, in parts of equal size. Only the last part may be smaller."""

    def __init__(self, parts: Sequence[Part]):
        self.parts = parts
        self.rows_per_part = max(1, len(parts[0].ends)) if parts else 1

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], vocab_size: int) -> Self:
        return cls([part_of(rows, vocab_size)])

    def __len__(self) -> int:
        return sum(len(part.ends) for part in self.parts)

    def __getitem__(self, row: int) -> Ids:
        number, place = divmod(row, self.rows_per_part)
        ids, ends = self.parts[number]
        return ids[ends[place - 1] if place else 0 : ends[place]]

    def __iter__(self) -> Iterator[Ids]:
        return (self[row] for row in range(len(self)))

    def lengths(self) -> NDArray[np.int32]:
        found = [np.diff(part.ends, prepend=0).astype(np.int32) for part in self.parts]
        return np.concatenate(found) if found else np.empty(0, np.int32)


def part_of(rows: Sequence[Sequence[int]], vocab_size: int) -> Part:
    ends = np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))
    return Part(flat(rows, vocab_size), ends)


def flat(rows: Iterable[Sequence[int]], vocab_size: int) -> Ids:
    """The ids of all rows, in 16 bits if the vocabulary allows it."""
    return np.fromiter(chain.from_iterable(rows), np.uint16 if vocab_size <= 2**16 else np.uint32)
