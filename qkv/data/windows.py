"""A stream of tokens in windows as long as the context: in one epoch every token is to be said once, and once only."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor

Window = tuple[int, int]  # reads stream[first:last], and has to say stream[first + 1 : last + 1]


def stream_of(documents: Iterable[Sequence[int]], end: int) -> Tensor:
    """Documents packed one behind another, an end before the first and after each."""
    ids = [end]
    for document in documents:
        ids += document
        ids.append(end)
    return torch.tensor(ids)


def windows_of(length: int, max_length: int, offset: int) -> list[Window]:
    """Windows over a stream of so many tokens; the first has `offset` tokens, from 1 to `max_length`.

    With another offset in every epoch no token is always the first of its window, where little can be seen.
    """
    cuts = [0, *range(offset, length - 1, max_length), length - 1]
    return [(first, last) for first, last in pairwise(cuts) if last > first]


def sliding_windows(length: int, context: int) -> Iterator[tuple[Window, int]]:
    """Windows as a model reads while it generates, and how many of the last tokens of each are to be said.

    Once the context is full its older half is forgotten: every token but the first ones is said from at least half a
    context.
    """
    last = min(context, length - 1)
    yield (0, last), last
    while last < length - 1:
        first, before = last - context // 2, last
        last = min(first + context, length - 1)
        yield (first, last), last - before
