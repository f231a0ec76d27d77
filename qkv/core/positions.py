"""Positions of tokens: the paper's sinusoids in both layouts, learned, rotary, and none."""

from typing import Literal

import torch
from torch import Tensor, nn

Layout = Literal["interleaved", "halves"]


def sinusoid(length: int, width: int, layout: Layout) -> Tensor:
    """P(pos, 2i) = sin(pos / 10000^(2i/D)), P(pos, 2i+1) = cos of the same angle.  (T, D)

    "interleaved" is the paper's order of columns; "halves" puts all sines before all cosines
    (tensor2tensor, Marian). The second is a permutation of the columns of the first.
    """
    column = torch.arange(width, dtype=torch.float64)
    angle = torch.arange(length, dtype=torch.float64)[:, None] / 10_000 ** (2 * (column // 2) / width)
    table = torch.where(column % 2 == 0, angle.sin(), angle.cos())  # (T, D)
    if layout == "halves":
        table = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
    return table.to(torch.get_default_dtype())


class SinusoidalPositions(nn.Module):
    """A fixed table without weights, recomputed rather than saved."""

    table: Tensor

    def __init__(self, context: int, width: int, layout: Layout):
        super().__init__()
        self.register_buffer("table", sinusoid(context, width, layout), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        return positions_between(self.table, start, length)


class RotaryPositions(nn.Module):
    """Rotation of queries and keys (Su et al., 2021), so that a score depends on their distance.

    Pair i of a head's columns rotates by pos / 10000^(2i/K): the angles of the sinusoid, but applied as a rotation in
    every block instead of added once.
    """

    table: Tensor

    def __init__(self, context: int, head_width: int):
        super().__init__()
        sines, cosines = sinusoid(context, head_width, "halves").chunk(2, dim=1)  # (T, K/2) each
        table = torch.stack([cosines.repeat(1, 2), torch.cat([-sines, sines], dim=1)], dim=1)
        self.register_buffer("table", table, persistent=False)  # (T, 2, K)

    def forward(self, start: int, length: int) -> Tensor:
        return positions_between(self.table, start, length)  # (T, 2, K)


def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """Rotate columns i and i + K/2 of x, (B, H, T, K), as a pair by the angle of their row; rotation is (T, 2, K)."""
    cosines, sines = rotation.unbind(dim=1)  # the sines of the first half are negative
    first, second = x.chunk(2, dim=-1)
    return x * cosines + torch.cat([second, first], dim=-1) * sines


class LearnedPositions(nn.Module):
    """A trained vector for each position."""

    def __init__(self, context: int, width: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(context, width) * 0.02)

    def forward(self, start: int, length: int) -> Tensor:
        return positions_between(self.table, start, length)


class NoPositions(nn.Module):
    """Zeros: attention treats its input as a set, and only the causal mask gives a decoder any order."""

    table: Tensor

    def __init__(self, context: int, width: int):
        super().__init__()
        self.register_buffer("table", torch.zeros(context, width), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        return positions_between(self.table, start, length)


def positions_between(table: Tensor, start: int, length: int) -> Tensor:
    """Rows start … start + length, or an error: a slice past the end would be silently short."""
    if start + length > len(table):
        raise ValueError(f"position {start + length} is beyond the context of {len(table)}")
    return table[start : start + length]  # (T, …)
