"""Attention over short sentences as loops compiled by Numba: several times as fast as torch's kernel on one CPU thread.

Imported only on request, because compiling takes seconds. Arrays are (B, T, D) as the linear layers return them, with
the heads next to each other; weights are (B, H, T, S).
"""

import math
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

LONGEST = 32  # keys: with more, torch's kernel catches up
NOTHING = np.float32(-1e30)  # a score below this is masked


def attend(q: Any, k: Any, v: Any, mask: Any, scale: np.float32, heads: int, z: Any, weights: Any) -> None:
    """Fill z and weights. The mask is (B or 1, T or 1, S); keys after the last unmasked one are skipped."""
    width = q.shape[2] // heads
    for b in range(q.shape[0]):
        mask_row = b if mask.shape[0] > 1 else 0
        for head in range(heads):
            first = head * width
            for t in range(q.shape[1]):
                seen_by = t if mask.shape[1] > 1 else 0
                end = k.shape[1]
                while end > 0 and mask[mask_row, seen_by, end - 1] < NOTHING:
                    end -= 1
                largest = NOTHING
                for s in range(end):
                    score = np.float32(0)
                    for c in range(width):
                        score += q[b, t, first + c] * k[b, s, first + c]
                    score = score * scale + mask[mask_row, seen_by, s]
                    weights[b, head, t, s] = score
                    largest = max(largest, score)
                total = np.float32(0)
                for s in range(end):
                    weight = math.exp(weights[b, head, t, s] - largest)
                    weights[b, head, t, s] = weight
                    total += weight
                for c in range(width):
                    z[b, t, first + c] = 0
                for s in range(end):
                    weight = weights[b, head, t, s] / total
                    weights[b, head, t, s] = weight
                    for c in range(width):
                        z[b, t, first + c] += weight * v[b, s, first + c]
                for s in range(end, k.shape[1]):
                    weights[b, head, t, s] = 0


def attend_backward(
    q: Any,
    k: Any,
    v: Any,
    scale: np.float32,
    heads: int,
    weights: Any,
    z_gradient: Any,
    q_gradient: Any,
    k_gradient: Any,
    v_gradient: Any,
) -> None:
    """Fill the three gradients."""
    width = q.shape[2] // heads
    by_weight = np.empty(k.shape[1], np.float32)  # gradients of one query's weights
    for b in range(q.shape[0]):
        for head in range(heads):
            first = head * width
            for s in range(k.shape[1]):
                for c in range(width):
                    k_gradient[b, s, first + c] = 0
                for c in range(width):
                    v_gradient[b, s, first + c] = 0
            for t in range(q.shape[1]):
                end = k.shape[1]
                while end > 0 and weights[b, head, t, end - 1] == 0:
                    end -= 1
                mean = np.float32(0)
                for s in range(end):
                    gradient = np.float32(0)
                    for c in range(width):
                        gradient += z_gradient[b, t, first + c] * v[b, s, first + c]
                    by_weight[s] = gradient
                    mean += gradient * weights[b, head, t, s]
                for c in range(width):
                    q_gradient[b, t, first + c] = 0
                for s in range(end):
                    weight = weights[b, head, t, s]
                    by_score = (by_weight[s] - mean) * weight * scale
                    for c in range(width):
                        v_gradient[b, s, first + c] += weight * z_gradient[b, t, first + c]
                    for c in range(width):
                        q_gradient[b, t, first + c] += by_score * k[b, s, first + c]
                    for c in range(width):
                        k_gradient[b, s, first + c] += by_score * q[b, t, first + c]


# Sums may be reordered; infinities and NaN are preserved.
FAST = {"reassoc", "contract", "nsz", "arcp"}
compiled_attend, compiled_backward = (
    njit(each, fastmath=FAST, error_model="numpy") for each in (attend, attend_backward)
)


class ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, heads: int) -> Tensor:
        z = torch.empty_like(q)
        weights = q.new_empty(q.shape[0], heads, q.shape[1], k.shape[1])
        scale = np.float32((q.shape[2] // heads) ** -0.5)
        compiled_attend(*map(array, (q, k, v, mask)), scale, heads, *map(array, (z, weights)))
        ctx.save_for_backward(q, k, v, weights)
        ctx.heads, ctx.scale = heads, scale
        return z

    @staticmethod
    def backward(ctx: Any, z_gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, weights = ctx.saved_tensors
        gradients = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        given = map(array, (weights, z_gradient.contiguous()))
        compiled_backward(*map(array, (q, k, v)), ctx.scale, ctx.heads, *given, *map(array, gradients))
        return *gradients, None, None


def array(tensor: Tensor) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    return tensor.detach().numpy()


def fit(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether the loops apply: short float32 sentences on a CPU, with an additive mask shared by all heads."""
    plain = all((each.device.type, each.dtype) == ("cpu", torch.float32) for each in (q, k, v))
    alike = mask is None or (mask.dtype == torch.float32 and (mask.ndim == 2 or mask.shape[1] == 1))
    return plain and alike and k.shape[-2] <= LONGEST


def short_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(QKᵀ / √K + mask) V on the CPU, with gradients: (B, H, T, K) and (B, H, S, K) to (B, H, T, K)."""
    heads = q.shape[1]
    rows = [
        each.transpose(1, 2).flatten(-2).contiguous() for each in (q, k, v)
    ]  # a view: they are in this order in memory
    scores = q.new_zeros(1, 1, k.shape[2]) if mask is None else laid_out(mask)
    z: Tensor = ShortAttention.apply(*rows, scores, heads)  # type: ignore[no-untyped-call]
    return z.unflatten(-1, (heads, -1)).transpose(1, 2)


def laid_out(mask: Tensor) -> Tensor:
    """An additive mask, (T, S) or (B, 1, T or 1, S), as (B or 1, T or 1, S)."""
    return (mask[None] if mask.ndim == 2 else mask[:, 0]).contiguous()


def compile_now() -> None:
    """Compile before the timing of a run starts."""
    q = torch.ones(1, 1, 1, 2, requires_grad=True)
    short_attention(q, q, q, None).sum().backward()
