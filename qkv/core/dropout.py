"""Dropout whose random numbers cost little: on a CPU, drawing them is a fifth of a small model's step."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 256  # of a random byte: the share dropped is rounded to a multiple of 1/256


class Dropout(nn.Module):
    """Zero a share of the values in training and scale up the rest, so that the mean stays what it was."""

    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":  # elsewhere torch's own kernel draws and multiplies at once
            return F.dropout(x, self.share)
        return x * kept(x.shape, self.share).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.share}"


def kept(shape: torch.Size, share: float) -> Tensor:
    """Zeros for about `share` of the places, elsewhere what keeps the mean at one; eight places from one draw.

    A random byte that reaches the threshold is kept. Comparing bytes is slow in torch; as floats, what is below
    falls under zero and what is above reaches one, and both are cut off there.
    """
    threshold = min(LEVELS - 1, round(share * LEVELS))
    count = shape.numel()
    words = torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None)
    levels = words.view(torch.uint8)[:count].view(shape).to(torch.float32)
    return levels.sub_(threshold - 1).clamp_(0, 1).mul_(LEVELS / (LEVELS - threshold))
