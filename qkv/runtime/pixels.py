"""Pixels as models read and write them."""

import torch
from torch import Tensor

AT_ONCE = 64  # pictures in a batch


def as_input(pixels: Tensor) -> Tensor:
    """Bytes as a model reads them: black is −1, white is 1."""
    return pixels.float() / 127.5 - 1


def as_pixels(values: Tensor) -> Tensor:
    """And back."""
    return ((values.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
