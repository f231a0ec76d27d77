"""One decoding in the compiled library."""

import ctypes
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from qkv.engine.handle import Handle
from qkv.engine.image import PackedModel
from qkv.engine.library import library

if TYPE_CHECKING:
    from qkv.engine.rounding import Floats


class Session:
    """The state of one decoding in the compiled library. It is freed with this object."""

    def __init__(self, packed: PackedModel, sources: Sequence[Sequence[int]], threads: int, block: int = -1):
        """One row per source; sources are empty for a decoder-only model. `block` is the one whose attention is recorded."""
        self.library, self.packed = library(), packed
        self.joined: list[Session] = []
        self.rows = len(sources)
        ids = array("i", [token for source in sources for token in source])
        lengths = array("i", map(len, sources))
        pointer = self.library.qkv_begin(
            ctypes.byref(packed.struct), address(ids), address(lengths), self.rows, block, threads
        )
        self.handle = Handle(pointer, self.library.qkv_end)

    def watch(self, heads: Sequence[int]) -> None:
        """Record the mean attention of these heads of the chosen block in a search."""
        numbers = array("i", heads)
        self.library.qkv_watch(self.handle, address(numbers), len(numbers))

    def join(self, other: "Session") -> None:
        """Search together with another model's session, which has the same sources."""
        self.library.qkv_join(self.handle, other.handle)
        self.joined.append(other)  # it must live as long as this one

    def draft_with(self, other: "Session") -> None:
        """Let a smaller model's session with the same source draft for greedy search."""
        self.library.qkv_draft(self.handle, other.handle)
        self.joined.append(other)

    def attention_of(self, sentence: int, rank: int, shape: tuple[int, int]) -> "Floats":
        """The attention that a search recorded for a hypothesis. (steps, S)"""
        import numpy as np

        found = np.empty(shape, np.float32)
        self.library.qkv_attention_of(self.handle, sentence, rank, found.ctypes.data)
        return found


SomeSession = TypeVar("SomeSession", bound=Session)


def address(numbers: "array[Any]") -> int:
    return numbers.buffer_info()[0]


def check_position(position: int, context: int) -> None:
    if position > context:
        raise ValueError(f"position {position} is beyond the context of {context}")
