"""Texts through an encoder by the compiled loops: no padding, weights packed once, float32 or int8."""

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from qkv.engine.library import library
from qkv.engine.packing import Packed
from qkv.engine.rounding import up_to_unit
from qkv.models.bert import Encoder

CHUNK = 256  # rows at a time for a thread: what it computes for them stays in its caches


class TextEngine:
    """An encoder's weights, packed. Texts are shared out among the threads; all threads share one that is alone.

    The words are looked up in the compiled part too: torch would do it with threads of its own, which go on waiting for
    more with a busy core, and these threads could not have that.
    """

    def __init__(self, encoder: Encoder, *, int8: bool, threads: int):
        self.library, self.threads, self.config = library(), threads, encoder.config
        self.packed = Packed.encoder(encoder, int8=int8)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __call__(self, ids: Sequence[int], segments: Sequence[int], lengths: Sequence[int]) -> Tensor:
        """Of texts one after another, what the encoder makes of each place, (N, D); the lengths add up to N."""
        self.check(ids, segments, lengths)
        width = self.config.stack.width
        given = torch.tensor([ids, segments], dtype=torch.int32)  # (2, N)
        found = torch.empty(len(ids), up_to_unit(width))
        parts = shared_out(lengths, min(CHUNK, -(-len(ids) // (2 * self.threads))))
        if self.pool is None or len(parts) == 1:
            for rows, part in parts:
                self.run(given[:, rows], part, self.threads, found[rows])
        else:
            list(self.pool.map(lambda part: self.run(given[:, part[0]], part[1], 1, found[part[0]]), parts))
        return found[:, :width]

    def check(self, ids: Sequence[int], segments: Sequence[int], lengths: Sequence[int]) -> None:
        config = self.config
        if not 0 < min(lengths) <= max(lengths) <= config.context:
            raise ValueError(f"a text has at least one token, and at most {config.context}")
        if not len(ids) == len(segments) == sum(lengths):
            raise ValueError("the lengths of the texts do not add up")
        for each, count in ((ids, config.vocab), (segments, config.segments)):
            if min(each) < 0 or max(each) >= count:
                raise IndexError("an id is not in the vocabulary, or a segment is unknown")

    def run(self, given: Tensor, lengths: Sequence[int], threads: int, to: Tensor) -> None:
        counts = torch.tensor(lengths, dtype=torch.int32)
        ids, segments = given[0], given[1]
        self.library.qkv_encode(
            ctypes.byref(self.packed.struct),
            ids.data_ptr(),
            segments.data_ptr(),
            counts.data_ptr(),
            len(lengths),
            threads,
            to.data_ptr(),
        )


def shared_out(lengths: Sequence[int], limit: int) -> list[tuple[slice, list[int]]]:
    """Neighbouring texts in parts of about `limit` rows, but never a text in two: rows and lengths of each part."""
    parts: list[tuple[slice, list[int]]] = []
    start, part = 0, list[int]()
    for length in lengths:
        if part and sum(part) + length > limit:
            parts.append((slice(start, start + sum(part)), part))
            start, part = start + sum(part), []
        part.append(length)
    parts.append((slice(start, start + sum(part)), part))
    return parts
