"""What a training step does between its matrix products, computed in one pass by compiled code where that is active.

Each function here has its formula elsewhere in `core`: attention in `attention.py`, dropout in `dropout.py`. It is the same
operation with its gradient, without intermediate tensors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

LONGEST = 64  # keys: with more, torch's attention is as fast


class Kernels(Protocol):
    """Compiled code for float32 on one CPU thread. Tensors are contiguous; q, k and v are at least `in_rows`."""

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rotation: Tensor | None, heads: int
    ) -> tuple[Tensor, Tensor]:
        """z and what `attend_backward` needs. q is (B, T, D), k and v are (B, S, D), the mask (B or 1, T or 1, S)."""

    def attend_backward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        rotation: Tensor | None,
        heads: int,
        weights: Tensor,
        by_z: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients by q, k and v."""

    def add_dropped(self, x: Tensor | None, y: Tensor, levels: Tensor, least: int, factor: float) -> Tensor:
        """x + y · factor where the random byte is at least `least`, and x elsewhere. None counts as zeros."""

    def normalize(self, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        """Layer norm of the rows of x, (…, D), and what `normalize_backward` needs."""

    def normalize_backward(
        self, x: Tensor, weight: Tensor, kept: Tensor, by_y: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients by x, weight and bias."""


active: Kernels | None = None  # inside `computed_by`


@contextmanager
def computed_by(kernels: Kernels | None) -> Iterator[None]:
    """Inside this context, models use these kernels where they fit."""
    global active
    before, active = active, kernels
    try:
        yield
    finally:
        active = before


def kernels_for(*tensors: Tensor) -> Kernels | None:
    """The active kernels, if they support these tensors."""
    if active is None or torch.is_autocast_enabled("cpu"):
        return None
    fits = all(each.dtype == torch.float32 and each.device.type == "cpu" for each in tensors)
    return active if fits else None


def attention_kernels(q: Tensor, k: Tensor, mask: Tensor | None, dropout: float) -> Kernels | None:
    """The active kernels, if they support this attention: short sentences, and an additive mask shared by all heads."""
    additive = mask is None or (mask.dtype == torch.float32 and (mask.ndim == 2 or mask.shape[1] == 1))
    return kernels_for(q, k) if additive and not dropout and k.shape[1] <= LONGEST else None


class AttentionByKernels(torch.autograd.Function):
    """softmax(QKᵀ / √K + mask) V for each head, with Q and K rotated first."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        rotation: Tensor | None,
        heads: int,
        kernels: Kernels,
    ) -> Tensor:
        q, k, v = in_rows(q), in_rows(k), in_rows(v)
        rotation = None if rotation is None else rotation.contiguous()
        if mask is not None:  # (T, S) or (B, 1, T or 1, S)
            mask = (mask[None] if mask.ndim == 2 else mask[:, 0]).contiguous()
        z, weights = kernels.attend(q, k, v, mask, rotation, heads)
        ctx.save_for_backward(q, k, v, weights)
        ctx.rotation, ctx.heads, ctx.kernels = rotation, heads, kernels
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_z: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights = ctx.saved_tensors
        kernels: Kernels = ctx.kernels
        gradients = kernels.attend_backward(q, k, v, ctx.rotation, ctx.heads, weights, by_z.contiguous())
        return *gradients, None, None, None, None


def in_rows(x: Tensor) -> Tensor:
    """(B, T, D) in which every position follows the last at the same distance, as in a part of the columns of a matrix."""
    regular = x.stride(2) == 1 and (x.stride(0) == x.shape[1] * x.stride(1) or x.shape[0] == 1)
    return x if regular else x.contiguous()


class AddDropped(torch.autograd.Function):
    """x + dropout(y)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor | None, y: Tensor, levels: Tensor, least: int, factor: float, kernels: Kernels
    ) -> Tensor:
        ctx.save_for_backward(levels)
        ctx.least, ctx.factor, ctx.kernels = least, factor, kernels
        x = None if x is None else x.contiguous()
        return kernels.add_dropped(x, y.contiguous(), levels, least, factor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        (levels,) = ctx.saved_tensors
        kernels: Kernels = ctx.kernels
        by_y = kernels.add_dropped(None, upstream.contiguous(), levels, ctx.least, ctx.factor)
        return upstream if ctx.needs_input_grad[0] else None, by_y, None, None, None, None


class NormByKernels(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, kernels: Kernels) -> Tensor:
        x = x.contiguous()
        y, kept = kernels.normalize(x, weight, bias, eps)
        ctx.save_for_backward(x, weight, kept)
        ctx.kernels = kernels
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_y: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, kept = ctx.saved_tensors
        kernels: Kernels = ctx.kernels
        return *kernels.normalize_backward(x, weight, kept, by_y.contiguous()), None, None


def norm(layer: nn.Module, x: Tensor) -> Tensor:
    """Apply a layer norm, by the active kernels where they fit."""
    kernels = kernels_for(x) if isinstance(layer, nn.LayerNorm) and x.shape[-1] % 16 == 0 else None
    y: Tensor = (
        layer(x) if kernels is None else NormByKernels.apply(x, layer.weight, layer.bias, layer.eps, kernels)  # type: ignore[no-untyped-call]
    )
    return y
