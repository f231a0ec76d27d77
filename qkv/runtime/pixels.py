"""Pixels as models read and write them."""

import torch
from torch import Tensor

AT_ONCE = 64  # images in a batch


def as_input(pixels: Tensor) -> Tensor:
    """Bytes to model inputs: black is −1, white is 1."""
    return pixels.float() / 127.5 - 1


def as_pixels(values: Tensor) -> Tensor:
    """Model outputs to bytes."""
    return ((values.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
