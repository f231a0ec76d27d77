"""Texts through an encoder's stack by the compiled loops: no padding, weights packed once, float32 or int8."""

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.core.block import Stack, StackConfig
from qkv.engine.library import library
from qkv.engine.packing import Packed
from qkv.engine.rounding import up_to_unit

CHUNK = 256  # rows at a time for a thread: what it computes for them stays in its caches


class TextEngine:
    """A stack's weights, packed. Texts are shared out among the threads; all threads share one that is alone."""

    def __init__(self, stack: Stack, config: StackConfig, *, int8: bool, threads: int):
        self.library, self.threads, self.width = library(), threads, config.width
        self.packed = Packed.encoder(stack, config, int8=int8)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __call__(self, x: Tensor, lengths: Sequence[int]) -> Tensor:
        """Embedded rows of texts one after another, (N, D), to what the stack makes of them; the lengths add up to N."""
        wide = up_to_unit(self.width)
        # A copy, in which the results will stand.
        y = F.pad(x.float(), (0, wide - self.width)) if wide != self.width else x.float().clone()
        y = y.contiguous()
        parts = shared_out(lengths, min(CHUNK, -(-len(y) // (2 * self.threads))))
        if self.pool is None or len(parts) == 1:
            for rows, part in parts:
                self.run(y[rows], part, self.threads)
        else:
            list(self.pool.map(lambda part: self.run(y[part[0]], part[1], 1), parts))
        return y[:, : self.width]

    def run(self, y: Tensor, lengths: Sequence[int], threads: int) -> None:
        counts = torch.tensor(lengths, dtype=torch.int32)
        model = ctypes.byref(self.packed.struct)
        self.library.qkv_encode(model, y.data_ptr(), counts.data_ptr(), len(lengths), threads)


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
