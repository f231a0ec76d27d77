"""Keys and values kept between decoding steps, so that a step computes only what is new."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from qkv.core.stack_config import DecoderCell
from qkv.engine.rounding import Floats

KeysAndValues = tuple[Floats, Floats]  # each (B, H, S, K)
Project = Callable[[Floats], KeysAndValues]


class Slot(Protocol):
    """What one attention layer keeps. It receives the projection and decides when to use it."""

    def update(self, project: Project, source: Floats) -> KeysAndValues: ...


class Growing:
    """The decoder's own positions so far, in buffers that double when they are full."""

    def __init__(self) -> None:
        self.length = 0
        self.buffers: KeysAndValues | None = None  # each (B, H, capacity, K)

    def update(self, project: Project, source: Floats) -> KeysAndValues:
        new = project(source)
        start, self.length = self.length, self.length + new[0].shape[2]
        if self.buffers is None or self.length > self.buffers[0].shape[2]:
            before = new if self.buffers is None else self.buffers
            self.buffers = larger(before[0], start, self.length), larger(before[1], start, self.length)
        for buffer, each in zip(self.buffers, new, strict=True):
            buffer[:, :, start : self.length] = each
        keys, values = self.buffers
        return keys[:, :, : self.length], values[:, :, : self.length]

    def select(self, rows: Any) -> None:
        if self.buffers is not None:
            self.buffers = self.buffers[0][rows], self.buffers[1][rows]


def larger(buffer: Floats, used: int, needed: int) -> Floats:
    batch, heads, _, width = buffer.shape
    made = np.empty((batch, heads, max(16, 2 * needed), width), dtype=np.float32)
    made[:, :, :used] = buffer[:, :, :used]
    return made


class Fixed:
    """The encoded source: projected once per sentence, then reused at every step."""

    def __init__(self) -> None:
        self.kept: KeysAndValues | None = None

    def update(self, project: Project, source: Floats) -> KeysAndValues:
        if self.kept is None:
            self.kept = project(source)
        return self.kept

    def select(self, rows: Any) -> None:
        if self.kept is not None:
            self.kept = self.kept[0][rows], self.kept[1][rows]


class CellState:
    """The state of a recurrent cell after the positions so far."""

    def __init__(self) -> None:
        self.length = 0
        self.state: Floats | None = None  # (B, D)

    def update(self, states: Floats) -> None:
        """States of the newest positions, (B, T, D)."""
        self.length += states.shape[1]
        self.state = states[:, -1]

    def select(self, rows: Any) -> None:
        if self.state is not None:
            self.state = self.state[rows]


class Cache:
    """The state of one decoding: what each block keeps of its own positions and of the source."""

    def __init__(self, depth: int, cell: DecoderCell = "attention"):
        self.own = [Growing() if cell == "attention" else CellState() for _ in range(depth)]
        self.cross = [Fixed() for _ in range(depth)]

    @property
    def length(self) -> int:
        return self.own[0].length

    def select(self, rows: Any) -> None:
        """Keep these rows of the batch, in this order."""
        for own, cross in zip(self.own, self.cross, strict=True):
            own.select(rows)
            cross.select(rows)
