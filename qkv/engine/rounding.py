"""Quantization to int8, in NumPy: the definition that the compiled engine and the NumPy models share.

Weights are rounded once, with a scale per output. Inputs of a layer are rounded at every call, with a step and a low end
per row, to 0 … 127: x ≈ low + step · byte. All arrays are float32.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

UNIT = 16  # sizes are rounded up to multiples of it
LEVELS = 127  # of inputs, above 0
# The fastest loop sums the products of 8 inputs in 16 bits, which hold at most 127 · 258. Rounding may add a half to
# each of the 8.
MOST = 258 - 4


def up_to_unit(size: int) -> int:
    return -(-size // UNIT) * UNIT


def padded(matrix: Floats) -> Floats:
    """Pad both dimensions with zeros."""
    outputs, inputs = matrix.shape
    return zero_padded(matrix, (0, up_to_unit(outputs) - outputs), (0, up_to_unit(inputs) - inputs))


def rounded(weight: Floats) -> tuple[Floats, Floats]:
    """Weights (N, K), K a multiple of 16, as whole numbers of at most ±127 and the scale of each output (N).

    The scale is the smallest for which no sum of the fastest loop overflows 16 bits. Inputs are not negative, so positive
    and negative weights count separately.
    """
    sums = np.maximum(largest_sum(np.maximum(weight, 0)), largest_sum(np.maximum(-weight, 0)))
    scale = np.maximum(np.abs(weight).max(1) / 127, sums / MOST)  # (N)
    scale = np.where(scale > 0, scale, np.ones_like(scale))
    return np.rint(weight / scale[:, None]), scale


def largest_sum(weight: Floats) -> Floats:
    """For every output, the largest sum of 8 weights that the fastest loop adds together. (N)

    It reads 16 inputs in four steps of four, and sums the first two of all steps, and the last two.
    """
    pairs = weight[:, 0::2] + weight[:, 1::2]  # (N, K / 2)
    steps = pairs.reshape(len(weight), -1, 4, 2)
    largest: Floats = (steps[:, :, 0] + steps[:, :, 1] + steps[:, :, 2] + steps[:, :, 3]).max((1, 2))
    return largest


def rounded_rows(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows (…, K) as whole numbers from 0 to 127, and the step and the low end (…, 1) of each."""
    low, high = np.minimum(x.min(-1, keepdims=True), 0), np.maximum(x.max(-1, keepdims=True), 0)
    reach = high - low
    up = np.divide(LEVELS, reach, out=np.zeros_like(reach), where=reach > 0)
    return np.floor((x - low) * up + np.float32(0.5)), reach / LEVELS, low


def heads_apart(x: Floats, heads: int) -> Floats:
    """(…, H · K) with each head's columns zero-padded to a multiple of 16."""
    each = x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)
    apart = zero_padded(each, (0, up_to_unit(each.shape[-1]) - each.shape[-1]))
    return apart.reshape(*x.shape[:-1], -1)


def zero_padded(x: NDArray[Any], *widths: tuple[int, int]) -> NDArray[Any]:
    """Pad the last dimensions with zeros; without padding, the array itself."""
    if not any(map(sum, widths)):
        return x
    return np.pad(x, [(0, 0)] * (x.ndim - len(widths)) + list(widths))
