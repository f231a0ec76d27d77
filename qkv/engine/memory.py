"""Memory for weights, in huge pages if the system has them.

Weights are read from one end to the other for every word. With pages of 4 KB a core spends a fifth of that time on
finding out where they are.
"""

import mmap
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

PAGE = 2 << 20
BLOCK = 16 * PAGE  # allocated at once; pages that are never written take no memory
LINE = 64  # cache line: the alignment of every array


class Memory:
    """Arrays stored one after another; freed when the last of them is."""

    def __init__(self) -> None:
        self.block = np.empty(0, np.uint8)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array in this memory; its content is zero."""
        size = prod(shape) * np.dtype(dtype).itemsize
        room = up_to_line(size)
        if len(self.block) < room:
            self.block = large_pages(max(BLOCK, room))
        own, self.block = self.block[:size], self.block[room:]
        return own.view(dtype).reshape(shape)


def up_to_line(size: int) -> int:
    return -(-size // LINE) * LINE


def large_pages(size: int) -> NDArray[np.uint8]:
    """Bytes that start at a page boundary."""
    alone = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    area = mmap.mmap(-1, size + PAGE, **alone)  # shared memory rarely gets huge pages
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # the system has none
            area.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(area, np.uint8)
    return whole[-whole.ctypes.data % PAGE :][:size]
