"""Splits a stream of tokens into windows of the context length. In an epoch every token is predicted exactly once."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Window = tuple[int, int]  # reads stream[first:last] and predicts stream[first + 1 : last + 1]


def stream_of(documents: Iterable[Sequence[int]], end: int) -> NDArray[np.int64]:
    """Concatenate documents, with an end token before the first and after each."""
    ids = [end]
    for document in documents:
        ids += document
        ids.append(end)
    return np.array(ids)


def windows_of(length: int, max_length: int, offset: int) -> list[Window]:
    """Windows over a stream of `length` tokens. The first has `offset` tokens, from 1 to `max_length`.

    With a different offset in every epoch, no token is always at the start of a window, where it has little context.
    """
    cuts = [0, *range(offset, length - 1, max_length), length - 1]
    return [(first, last) for first, last in pairwise(cuts) if last > first]


def sliding_windows(length: int, context: int) -> Iterator[tuple[Window, int]]:
    """Windows as in generation, and how many of the last tokens of each are predicted.

    When the context is full, its older half is dropped. All tokens but the first ones have at least half a context.
    """
    last = min(context, length - 1)
    yield (0, last), last
    while last < length - 1:
        first, before = last - context // 2, last
        last = min(first + context, length - 1)
        yield (first, last), last - before
