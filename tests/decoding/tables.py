"""A Step over fixed random logits, for tests of decoding."""

import zlib
from functools import cache

import torch
from torch import Tensor

START, END = 0, 1


@cache
def log_probability_after(sentence: int, prefix: tuple[int, ...], vocab: int) -> Tensor:
    """A fixed random answer for every sentence and prefix; some sentences like to end and some do not."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr((sentence, prefix)).encode()))
    logits = 2 * torch.randn(vocab, generator=generator)
    logits[END] += sentence % 5 - 2
    return logits.log_softmax(-1)


class TableStep:
    """It notes how many rows it was asked about each time."""

    def __init__(self, sentences: list[int], vocab: int):
        self.rows: list[tuple[int, tuple[int, ...]]] = [(sentence, ()) for sentence in sentences]
        self.vocab_size = vocab
        self.batch_sizes: list[int] = []

    def __call__(self, ids: Tensor) -> Tensor:
        self.batch_sizes.append(len(ids))
        newest = zip(self.rows, ids.tolist(), strict=True)
        self.rows = [(sentence, (*prefix, *new)) for (sentence, prefix), new in newest]
        shift = torch.arange(len(ids))[:, None] % 3  # logits, unlike probabilities, may be shifted
        return torch.stack([log_probability_after(*row, self.vocab_size) for row in self.rows]) + shift

    def select(self, rows: Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]
