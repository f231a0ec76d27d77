"""Memory for weights, in huge pages if the system has them.

Weights are read from one end to the other for every word. With pages of 4 KB a core spends a fifth of that time on
finding out where they are.
"""

import mmap
from contextlib import suppress

import torch
from torch import Tensor

PAGE = 2 << 20
BLOCK = 16 * PAGE  # allocated at once; pages that are never written take no memory
LINE = 64  # cache line: the alignment of every tensor


class Memory:
    """Tensors stored one after another; freed when the last of them is."""

    def __init__(self) -> None:
        self.block = torch.empty(0, dtype=torch.uint8)

    def placed(self, tensor: Tensor) -> Tensor:
        """A copy of a tensor in this memory."""
        size = tensor.numel() * tensor.element_size()
        room = -(-size // LINE) * LINE
        if len(self.block) < room:
            self.block = large_pages(max(BLOCK, room))
        own, self.block = self.block[:size], self.block[room:]
        copy = own.view(tensor.dtype).view(tensor.shape)
        copy.copy_(tensor)
        return copy


def large_pages(size: int) -> Tensor:
    """Bytes that start at a page boundary."""
    alone = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    area = mmap.mmap(-1, size + PAGE, **alone)  # shared memory rarely gets huge pages
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # the system has none
            area.madvise(mmap.MADV_HUGEPAGE)
    whole = torch.frombuffer(area, dtype=torch.uint8)
    return whole[-whole.data_ptr() % PAGE :][:size]
