"""Memory for weights, in large pages where the system has them.

Weights are read from one end to the other for every word. With pages of 4 KB a core spends a fifth of that time on
finding out where they are.
"""

import mmap
from contextlib import suppress

import torch
from torch import Tensor

PAGE = 2 << 20
BLOCK = 16 * PAGE  # asked for at once; what is never written to takes no memory
LINE = 64  # of a cache: where every tensor begins


class Memory:
    """Tensors one behind the other; it is kept as long as one of them is."""

    def __init__(self) -> None:
        self.block = torch.empty(0, dtype=torch.uint8)

    def placed(self, tensor: Tensor) -> Tensor:
        """A copy that lies here."""
        size = tensor.numel() * tensor.element_size()
        room = -(-size // LINE) * LINE
        if len(self.block) < room:
            self.block = large_pages(max(BLOCK, room))
        own, self.block = self.block[:size], self.block[room:]
        copy = own.view(tensor.dtype).view(tensor.shape)
        copy.copy_(tensor)
        return copy


def large_pages(size: int) -> Tensor:
    """Bytes from the beginning of a page on."""
    alone = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    area = mmap.mmap(-1, size + PAGE, **alone)  # memory that is shared seldom has large pages
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without them
            area.madvise(mmap.MADV_HUGEPAGE)
    whole = torch.frombuffer(area, dtype=torch.uint8)
    return whole[-whole.data_ptr() % PAGE :][:size]
