"""Dropout with cheap random numbers: on a CPU, drawing them takes a fifth of a small model's step."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 256  # values of a random byte: the dropped share is rounded to a multiple of 1/256


class Dropout(nn.Module):
    """In training, zero a share of the values and scale up the rest, so that the mean stays the same."""

    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":  # other devices have a fused kernel in torch
            return F.dropout(x, self.share)
        return x * kept(x.shape, self.share).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.share}"


def kept(shape: torch.Size, share: float) -> Tensor:
    """Zeros for about `share` of the values, and the factor that keeps the mean at one for the rest.

    One draw gives eight random bytes; a byte at or above the threshold is kept. Comparing bytes is slow in torch, so
    they are shifted as floats and clamped to 0 and 1.
    """
    threshold = min(LEVELS - 1, round(share * LEVELS))
    count = shape.numel()
    words = torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None)
    levels = words.view(torch.uint8)[:count].view(shape).to(torch.float32)
    return levels.sub_(threshold - 1).clamp_(0, 1).mul_(LEVELS / (LEVELS - threshold))
