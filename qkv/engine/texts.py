"""The engine of text encoders: no padding, weights packed once, float32 or int8."""

import ctypes
import os
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import numpy as np

from qkv.engine.library import library
from qkv.engine.packed_file import pack
from qkv.engine.packing import Weights
from qkv.engine.rounding import Floats, up_to_unit
from qkv.families.bert.config import EncoderConfig

CHUNK = 256  # rows per call, so that their data stays in the caches
Pooling = Literal["each", "mean", "first"]
"""The result for a text: the state of each position, their mean, or the first."""
POOLINGS: tuple[Pooling, ...] = ("each", "mean", "first")  # numbered as in texts.h


class Part(NamedTuple):
    """Neighboring texts: their first row, the index of the first text, and their lengths."""

    row: int
    text: int
    lengths: list[int]


class TextEngine:
    """An encoder's weights, packed. Texts are divided among the threads; all threads share a single text."""

    device: None = None

    def __init__(
        self,
        config: EncoderConfig,
        weights: Weights,
        *,
        int8: bool,
        threads: int,
        prefix: str = "encoder.",
    ):
        self.library, self.threads, self.config = library(), threads, config
        self.packed = pack("encoder", config, weights, int8=int8, prefix=prefix)
        self.pools: dict[int, ThreadPoolExecutor] = {}  # per process: a fork has none of its parent's threads

    def __call__(
        self, ids: Sequence[int], segments: Sequence[int], lengths: Sequence[int], pooling: Pooling = "each"
    ) -> Floats:
        """The states of concatenated texts: of each position, (N, D), or of each text, (texts, D).

        The lengths add up to N.
        """
        self.check(ids, segments, lengths)
        width = self.config.stack.width
        given = array("i", ids), array("i", segments)
        rows = len(ids) if pooling == "each" else len(lengths)
        found = np.empty((rows, up_to_unit(width)), np.float32)
        parts = split_texts(lengths, min(CHUNK, -(-len(ids) // (2 * self.threads))))
        if self.threads == 1 or len(parts) == 1:
            for part in parts:
                self.run(given, part, pooling, self.threads, found)
        else:
            list(self.pool().map(lambda part: self.run(given, part, pooling, 1, found), parts))
        return found if found.shape[1] == width else found[:, :width]

    def pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if process not in self.pools:
            self.pools[process] = ThreadPoolExecutor(self.threads)
        return self.pools[process]

    def check(self, ids: Sequence[int], segments: Sequence[int], lengths: Sequence[int]) -> None:
        config = self.config
        if not 0 < min(lengths) <= max(lengths) <= config.max_length:
            raise ValueError(f"a text must have from 1 to {config.max_length} tokens")
        if not len(ids) == len(segments) == sum(lengths):
            raise ValueError("the lengths of the texts do not add up")
        for each, count in ((ids, config.vocab_size), (segments, config.segments)):
            if min(each) < 0 or max(each) >= count:
                raise IndexError("an id is not in the vocabulary, or a segment is unknown")

    def run(
        self, given: Sequence["array[int]"], part: Part, pooling: Pooling, threads: int, to: Floats
    ) -> None:
        ids, segments = (each.buffer_info()[0] + part.row * each.itemsize for each in given)
        counts = array("i", part.lengths)
        row = part.row if pooling == "each" else part.text
        self.library.qkv_encode(
            ctypes.byref(self.packed.struct),
            ids,
            segments,
            counts.buffer_info()[0],
            len(counts),
            POOLINGS.index(pooling),
            threads,
            to.ctypes.data + row * to.strides[0],
        )


def split_texts(lengths: Sequence[int], limit: int) -> list[Part]:
    """Group neighboring texts into parts of about `limit` rows, without splitting a text."""
    parts: list[Part] = []
    row, part = 0, list[int]()
    for text, length in enumerate(lengths):
        if part and sum(part) + length > limit:
            parts.append(Part(row, text - len(part), part))
            row, part = row + sum(part), []
        part.append(length)
    parts.append(Part(row, len(lengths) - len(part), part))
    return parts
