"""Keys and values kept between decoding steps, so that a step computes only what is new."""

from collections.abc import Callable
from typing import Protocol

from torch import Tensor

from qkv.core.stack_config import DecoderCell

KeysAndValues = tuple[Tensor, Tensor]  # each (B, H, S, K)
Project = Callable[[Tensor], KeysAndValues]


class Slot(Protocol):
    """What one attention layer keeps. It receives the projection and decides when to use it."""

    def update(self, project: Project, source: Tensor) -> KeysAndValues: ...

    def select(self, rows: Tensor) -> None: ...


class Growing:
    """The decoder's own positions so far, in buffers that double when they are full."""

    def __init__(self) -> None:
        self.length = 0
        self.keys: Tensor | None = None  # (B, H, capacity, K)
        self.values: Tensor | None = None

    def update(self, project: Project, source: Tensor) -> KeysAndValues:
        keys, values = project(source)
        start, self.length = self.length, self.length + keys.shape[2]
        self.keys = with_room(self.keys, keys, start, self.length)
        self.values = with_room(self.values, values, start, self.length)
        self.keys[:, :, start : self.length] = keys
        self.values[:, :, start : self.length] = values
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def select(self, rows: Tensor) -> None:
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]


def with_room(buffer: Tensor | None, new: Tensor, used: int, needed: int) -> Tensor:
    if buffer is not None and needed <= buffer.shape[2]:
        return buffer
    batch, heads, _, width = new.shape
    larger = new.new_empty(batch, heads, max(16, 2 * needed), width)
    if buffer is not None:
        larger[:, :, :used] = buffer[:, :, :used]
    return larger


class Fixed:
    """The encoded source: projected once per sentence, then reused at every step."""

    def __init__(self) -> None:
        self.kept: KeysAndValues | None = None

    def update(self, project: Project, source: Tensor) -> KeysAndValues:
        if self.kept is None:
            self.kept = project(source)
        return self.kept

    def select(self, rows: Tensor) -> None:
        if self.kept is not None:
            keys, values = self.kept
            self.kept = keys[rows], values[rows]


class CellState:
    """The state of a recurrent cell after the positions so far, in place of their keys and values."""

    def __init__(self) -> None:
        self.length = 0
        self.state: Tensor | None = None  # (B, D)

    def update(self, states: Tensor) -> None:
        """States of the newest positions, (B, T, D)."""
        self.length += states.shape[1]
        self.state = states[:, -1]

    def select(self, rows: Tensor) -> None:
        if self.state is not None:
            self.state = self.state[rows]


class BlockCache:
    def __init__(self, cell: DecoderCell) -> None:
        self.own = Growing() if cell == "attention" else CellState()
        self.cross = Fixed()


class Cache:
    """The state of one decoding: an argument of the call, never an attribute of the model."""

    def __init__(self, depth: int, cell: DecoderCell = "attention"):
        self.blocks = [BlockCache(cell) for _ in range(depth)]

    @property
    def length(self) -> int:
        return self.blocks[0].own.length

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order: beam search reorders rows and drops finished ones."""
        for block in self.blocks:
            block.own.select(rows)
            block.cross.select(rows)
