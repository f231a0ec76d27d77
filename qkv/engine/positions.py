"""Positions of tokens in NumPy: the same tables as in core/positions.py."""

from typing import Literal

import numpy as np

from qkv.engine.rounding import Floats


def sinusoid(length: int, width: int, layout: Literal["interleaved", "halves"]) -> Floats:
    """P(pos, 2i) = sin(pos / 10000^(2i/D)), P(pos, 2i+1) = cos of the same angle.  (T, D)

    "interleaved" is the paper's order of columns; "halves" puts all sines before all cosines.
    """
    column = np.arange(width, dtype=np.float64)
    angle = np.arange(length, dtype=np.float64)[:, None] / 10_000 ** (2 * (column // 2) / width)
    table = np.where(column % 2 == 0, np.sin(angle), np.cos(angle))  # (T, D)
    if layout == "halves":
        table = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)
    return table.astype(np.float32)


def rotations(length: int, head_width: int) -> Floats:
    """Cosines and sines that rotate columns i and i + K/2 of a head; the sines of the first half are negative.  (T, 2, K)"""
    sines, cosines = np.split(sinusoid(length, head_width, "halves"), 2, axis=1)  # (T, K/2) each
    return np.stack([np.tile(cosines, (1, 2)), np.concatenate([-sines, sines], axis=1)], axis=1)
