"""Positions of tokens where they are used: rotation of queries and keys, and rows of a table."""

import numpy as np

from qkv.engine.rounding import Floats


def rotate(x: Floats, rotation: Floats) -> Floats:
    """Rotate columns i and i + K/2 of x, (B, H, T, K), as a pair by the angle of their row; rotation is (T, 2, K)."""
    half = x.shape[-1] // 2
    swapped = np.concatenate([x[..., half:], x[..., :half]], axis=-1)
    cosines: Floats = rotation[:, 0]
    sines: Floats = rotation[:, 1]
    rotated: Floats = x * cosines
    rotated += swapped * sines
    return rotated


def rows_between(table: Floats | None, start: int, length: int) -> Floats | None:
    """Rows start … start + length, or an error: a slice past the end would be silently short."""
    if table is None:
        return None
    check_position(start + length, len(table))
    return table[start : start + length]


def check_position(position: int, context: int) -> None:
    if position > context:
        raise ValueError(f"position {position} is beyond the context of {context}")
