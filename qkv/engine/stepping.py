"""Decoding token by token in the compiled library, on NumPy arrays."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qkv.core.translation import CrossHeads
from qkv.engine.rounding import Floats, up_to_unit
from qkv.engine.session import Session, check_position

if TYPE_CHECKING:
    from qkv.engine.engine import Engine


class SteppingSession(Session):
    """A session that reads tokens and returns logits."""

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

    def select(self, rows: ArrayLike) -> None:
        order = np.ascontiguousarray(rows, np.int32)
        self.library.qkv_select(self.handle, order.ctypes.data, len(order))
        self.rows = len(order)


class EngineStep:
    """One decoding of a batch of sources, token by token (the Step protocol)."""

    def __init__(self, engine: "Engine", sources: Sequence[Sequence[int]], look: CrossHeads | None):
        self.session = engine.session(sources, engine.threads, look, SteppingSession)
        self.config, self.look = engine.config, look
        self.length = 0
        lengths = np.array([len(source) for source in sources])
        self.real: NDArray[np.bool_] = np.arange(lengths.max()) < lengths[:, None]  # (B, S)

    def __call__(self, ids: ArrayLike) -> Floats:
        """Take the newest ids, (B, T), and return the logits of the next token, (B, V)."""
        given: NDArray[Any] = np.asarray(ids)
        check_position(self.length + given.shape[1], self.config.max_length)
        check_ids(given, self.config.vocab_size)
        self.length += given.shape[1]
        return self.session.step(given)

    @property
    def attention(self) -> Floats:
        """Attention of the last call, (B, S). Padding counts as 1."""
        if self.look is None or not self.length:
            raise ValueError("attention is available only after a step that was begun with heads")
        rows, longest = self.real.shape
        pointer = self.session.library.qkv_looked(self.session.handle)
        weights = np.ctypeslib.as_array(pointer, (rows, self.config.decoder.heads, longest))
        mean: Floats = weights[:, list(self.look.heads)].mean(1)
        return np.where(self.real, mean, np.float32(1))

    def select(self, rows: ArrayLike) -> None:
        self.session.select(rows)
        self.real = self.real[np.asarray(rows)]


def check_ids(ids: NDArray[Any], vocab: int) -> None:
    if ids.min() < 0 or ids.max() >= vocab:
        raise IndexError("an id is not in the vocabulary")
