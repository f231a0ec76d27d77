"""One decoding in the compiled library."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qkv.engine.library import library
from qkv.engine.packing import Packed
from qkv.engine.rounding import Floats, up_to_unit


class Session:
    """The state of one decoding in the compiled library. It is freed with this object."""

    def __init__(self, packed: Packed, sources: Sequence[Sequence[int]], threads: int, block: int = -1):
        """One row per source; sources are empty for a decoder-only model. `block` is the one whose attention is recorded."""
        self.library, self.packed = library(), packed
        self.rows = len(sources)
        ids = np.array([token for source in sources for token in source], np.int32)
        lengths = np.array([len(source) for source in sources], np.int32)
        self.handle: Any = None
        self.handle = self.library.qkv_begin(
            ctypes.byref(packed.struct), ids.ctypes.data, lengths.ctypes.data, self.rows, block, threads
        )

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.qkv_end(self.handle)

    def step(self, ids: NDArray[Any]) -> Floats:
        """Take the newest ids, (B, T), and return the logits of the next token, (B, V)."""
        if len(ids) != self.rows:
            raise ValueError(f"expected {self.rows} rows, got {len(ids)}")
        logits = np.empty((self.rows, self.packed.struct.vocab), np.float32)
        columns = np.ascontiguousarray(ids.T, np.int32)  # (T, B)
        self.library.qkv_step(self.handle, columns.ctypes.data, len(columns), logits.ctypes.data)
        return logits

    def read(self, ids: NDArray[Any], *, states: bool) -> Floats:
        """States, (B, T, D), or logits, (B, T, V), of these ids, (B, T)."""
        struct = self.packed.struct
        width = up_to_unit(struct.decoder.width) if states else struct.vocab
        columns = np.ascontiguousarray(ids.T, np.int32)  # (T, B)
        found = np.empty((*columns.shape, width), np.float32)
        places = (found.ctypes.data, None) if states else (None, found.ctypes.data)
        self.library.qkv_read(self.handle, columns.ctypes.data, len(columns), *places)
        return found[..., : struct.decoder.width if states else width].swapaxes(0, 1)

    def watch(self, heads: Sequence[int]) -> None:
        """Record the mean attention of these heads of the chosen block in a search."""
        numbers = np.array(heads, np.int32)
        self.library.qkv_watch(self.handle, numbers.ctypes.data, len(numbers))

    def attention_of(self, sentence: int, rank: int, shape: tuple[int, int]) -> Floats:
        """The attention that a search recorded for a hypothesis. (steps, S)"""
        found = np.empty(shape, np.float32)
        self.library.qkv_attention_of(self.handle, sentence, rank, found.ctypes.data)
        return found

    def select(self, rows: ArrayLike) -> None:
        order = np.ascontiguousarray(rows, np.int32)
        self.library.qkv_select(self.handle, order.ctypes.data, len(order))
        self.rows = len(order)


def check_ids(ids: NDArray[Any], vocab: int) -> None:
    if ids.min() < 0 or ids.max() >= vocab:
        raise IndexError("an id is not in the vocabulary")
