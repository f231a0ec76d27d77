"""Dropout with cheap random numbers: on a CPU, drawing them takes a fifth of a small model's step."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.kernels import AddDropped, kernels_for

LEVELS = 256  # values of a random byte: the dropped share is rounded to a multiple of 1/256


class Dropout(nn.Module):
    """In training, zero a share of the values and scale up the rest, so that the mean stays the same."""

    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        return self.added(None, x)

    def added(self, x: Tensor | None, y: Tensor) -> Tensor:
        """x + dropout(y); None counts as zeros."""
        if not self.training or self.share == 0:
            return sum_of(x, y)
        if y.device.type != "cpu":  # other devices have a fused kernel in torch
            return sum_of(x, F.dropout(y, self.share))
        levels, least = random_bytes(y.shape), threshold(self.share)
        factor = LEVELS / (LEVELS - least)  # keeps the mean
        if (kernels := kernels_for(y)) is not None:
            total: Tensor = AddDropped.apply(x, y, levels, least, factor, kernels)  # type: ignore[no-untyped-call]
            return total
        return sum_of(x, y * kept(levels, least, factor).to(y.dtype))

    def extra_repr(self) -> str:
        return f"{self.share}"


def sum_of(x: Tensor | None, y: Tensor) -> Tensor:
    return y if x is None else x + y


def threshold(share: float) -> int:
    """A random byte at or above this is kept."""
    return min(LEVELS - 1, round(share * LEVELS))


def random_bytes(shape: torch.Size) -> Tensor:
    """One draw gives eight of them."""
    count = shape.numel()
    words = torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None)
    return words.view(torch.uint8)[:count].view(shape)


def kept(levels: Tensor, least: int, factor: float) -> Tensor:
    """Zeros for the bytes below `least`, and the factor for the rest.

    Comparing bytes is slow in torch, so they are shifted as floats and clamped to 0 and 1.
    """
    return levels.to(torch.float32).sub_(least - 1).clamp_(0, 1).mul_(factor)
