"""Pixels as models read and write them."""

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 64  # images in a batch
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


def as_input(pixels: Bytes) -> Floats:
    """Bytes to model inputs: black is −1, white is 1."""
    return pixels.astype(np.float32) / 127.5 - 1


def as_pixels(values: Floats) -> Bytes:
    """Model outputs to bytes."""
    return np.rint((values.clip(-1, 1) + 1) * 127.5).astype(np.uint8)
