"""A Step over fixed random logits, for tests of decoding with NumPy and with torch."""

import zlib
from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor

from qkv.decoding.arrays import Array, Arrays, arrays_for, arrays_of
from qkv.decoding.hypothesis import Hypothesis

START, END = 0, 1
BOTH = [arrays_for(None), arrays_for("cpu")]


def in_both(search: Callable[[Arrays], list[list[Hypothesis]]]) -> list[list[Hypothesis]]:
    """What a search finds, which must be the same with NumPy and with torch."""
    one, other = (search(arrays) for arrays in BOTH)
    for row, wanted in zip(one, other, strict=True):
        assert [(each.ids, each.finished) for each in row] == [(each.ids, each.finished) for each in wanted]
        for each, same in zip(row, wanted, strict=True):
            assert each.score == pytest.approx(same.score, abs=1e-4)
            assert each.log_probabilities == pytest.approx(same.log_probabilities, abs=1e-5)
    return other


@cache
def log_probability_after(sentence: int, prefix: tuple[int, ...], vocab: int) -> Tensor:
    """A fixed random answer for every sentence and prefix; some sentences like to end and some do not."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr((sentence, prefix)).encode()))
    logits = 2 * torch.randn(vocab, generator=generator)
    logits[END] += sentence % 5 - 2
    return logits.log_softmax(-1)


class TableStep:
    """It notes how many rows it was asked about each time. Its logits are of the library of the ids."""

    def __init__(self, sentences: list[int], vocab: int):
        self.rows: list[tuple[int, tuple[int, ...]]] = [(sentence, ()) for sentence in sentences]
        self.vocab_size = vocab
        self.batch_sizes: list[int] = []

    def __call__(self, ids: Array) -> Array:
        self.batch_sizes.append(len(ids))
        newest = zip(self.rows, ids.tolist(), strict=True)
        self.rows = [(sentence, (*prefix, *new)) for (sentence, prefix), new in newest]
        shift = torch.arange(len(ids))[:, None] % 3  # logits, unlike probabilities, may be shifted
        logits = torch.stack([log_probability_after(*row, self.vocab_size) for row in self.rows]) + shift
        return arrays_of(ids).asarray(logits)

    def select(self, rows: Array) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]
