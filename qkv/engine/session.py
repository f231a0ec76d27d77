"""One decoding in the compiled library."""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from qkv.engine.library import library
from qkv.engine.packing import Packed


class Session:
    """The state of one decoding in the compiled library. It is freed with this object."""

    def __init__(self, packed: Packed, sources: Sequence[Sequence[int]], threads: int, block: int = -1):
        """One row per source; sources are empty for a decoder-only model. `block` is the one whose attention is recorded."""
        self.library, self.packed = library(), packed
        self.rows = len(sources)
        ids = torch.tensor([token for source in sources for token in source], dtype=torch.int32)
        lengths = torch.tensor([len(source) for source in sources], dtype=torch.int32)
        self.handle: Any = None
        self.handle = self.library.qkv_begin(
            ctypes.byref(packed.struct), ids.data_ptr(), lengths.data_ptr(), self.rows, block, threads
        )

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.qkv_end(self.handle)

    def step(self, ids: Tensor) -> Tensor:
        """Take the newest ids, (B, T), and return the logits of the next token, (B, V)."""
        if len(ids) != self.rows:
            raise ValueError(f"expected {self.rows} rows, got {len(ids)}")
        logits = torch.empty(self.rows, self.packed.struct.vocab)
        columns = ids.to(torch.int32).T.contiguous()  # (T, B)
        self.library.qkv_step(self.handle, columns.data_ptr(), len(columns), logits.data_ptr())
        return logits

    def select(self, rows: Tensor) -> None:
        order = rows.to(torch.int32).contiguous()
        self.library.qkv_select(self.handle, order.data_ptr(), len(order))
        self.rows = len(order)


def check_ids(ids: Tensor, vocab: int) -> None:
    if int(ids.min()) < 0 or int(ids.max()) >= vocab:
        raise IndexError("an id is not in the vocabulary")
