"""Batches of sentences of similar length, to avoid padding."""

import random
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from torch import Tensor


class Batches(Sequence[list[int]]):
    """Batches of indices. Each list is made when it is read: all of them would need about 40 bytes per index."""

    def __init__(self, order: NDArray[np.uint32], cuts: NDArray[np.int64], places: NDArray[np.uint32]):
        self.order, self.cuts, self.places = (
            order,
            cuts,
            places,
        )  # batch i is order[cuts[p]:cuts[p + 1]], p = places[i]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> list[int]: ...
    @overload
    def __getitem__(self, place: slice) -> "Batches": ...
    def __getitem__(self, place: int | slice) -> "list[int] | Batches":
        if isinstance(place, slice):
            return Batches(self.order, self.cuts, self.places[place])
        number = self.places[place]
        found: list[int] = self.order[self.cuts[number] : self.cuts[int(number) + 1]].tolist()
        return found

    def of_rows(self, rows: NDArray[np.uint32]) -> "Batches":
        """The same batches of `rows[index]` for each index."""
        return Batches(rows[self.order], self.cuts, self.places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def token_batches(
    lengths: ArrayLike, budget: int, seed: int | None, tiebreak: ArrayLike | None = None
) -> Batches:
    """Group indices into batches of at most `budget` tokens, including padding.

    For pairs of texts, `lengths` are those of the longer text. Indices of equal length are sorted by `tiebreak`, such as the
    difference in length of the two texts: ascending for one length and descending for the next, so that neighbors are
    similar.

    With a seed, sentences and batches are shuffled; without one, batches are sorted by length. A sentence longer than the
    budget is a batch of its own.
    """
    sizes, generator = np.asarray(lengths, dtype=np.int64), random.Random(seed)
    order = shuffled(len(sizes), generator if seed is not None else None)
    if tiebreak is not None:
        difference = np.asarray(tiebreak, dtype=np.int64)
        order = stable_sort(order, np.where(sizes % 2 == 1, difference, -difference))
    order = stable_sort(order, sizes)  # equal lengths stay shuffled
    cuts = cut_batches(sizes[order], budget)
    return Batches(order, cuts, shuffled(len(cuts) - 1, generator if seed is not None else None))


def shuffled(count: int, generator: random.Random | None) -> NDArray[np.uint32]:
    """The numbers below `count`, in random order if there is a generator. The order is that of a shuffled list."""
    numbers = array("I", range(count))
    if generator is not None:
        generator.shuffle(numbers)
    return np.frombuffer(numbers, np.uint32) if count else np.empty(0, np.uint32)


def stable_sort(order: NDArray[np.uint32], keys: NDArray[np.int64]) -> NDArray[np.uint32]:
    if len(keys) and max(abs(int(keys.min())), int(keys.max())) < 2**15:
        keys = keys.astype(np.int16)  # NumPy sorts 16 bits in linear time
    return order[np.argsort(keys[order], kind="stable")]


def cut_batches(sizes: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Where batches begin and end. The sizes are sorted, so the last one of a batch is the longest."""
    cuts, start = [0], 0
    while start < len(sizes):
        most = sizes[start : start + budget // max(1, int(sizes[start])) + 1]
        padded = most * np.arange(1, len(most) + 1)
        start += max(1, int(np.searchsorted(padded, budget, side="right")))
        cuts.append(start)
    return np.array(cuts)


def pad_rows(rows: Sequence[Any], pad: int, *, first: int | None = None, last: int | None = None) -> "Tensor":
    """Rows of different lengths, lists or arrays, as one tensor, padded at the end.  (B, T)

    `first` and `last` are added to every row.
    """
    import torch  # only training and torch models need it

    before, after = int(first is not None), int(last is not None)
    padded = np.full((len(rows), before + max(map(len, rows)) + after), pad, np.int64)
    if first is not None:
        padded[:, 0] = first
    for line, row in zip(padded, rows, strict=True):
        end = before + len(row)
        line[before:end] = row
        if last is not None:
            line[end] = last
    return torch.from_numpy(padded)
