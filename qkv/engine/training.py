"""The kernels of `qkv.core.kernels` by the compiled library, for training on a CPU."""

from ctypes import byref

import torch
from torch import Tensor

from qkv.engine.library import TrainingAttentionStruct, library

PADDING = 16  # keys are padded to a multiple of this: BLOCK in model.h


class CompiledKernels:
    """Raises NoEngineError if the library is unavailable."""

    def __init__(self) -> None:
        self.library = library()

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rotation: Tensor | None, heads: int
    ) -> tuple[Tensor, Tensor]:
        z = q.new_empty(q.shape)
        padded = -(-k.shape[1] // PADDING) * PADDING
        weights = q.new_empty(q.shape[0], heads, q.shape[1], padded)
        shape = shape_of(q, k, v, rotation, heads)
        if mask is not None:
            shape.mask_sentence = mask.stride(0) if mask.shape[0] > 1 else 0
            shape.mask_query = mask.stride(1) if mask.shape[1] > 1 else 0
        self.library.qkv_attend(byref(shape), *pointers(q, k, v, mask, z, weights))
        return z, weights

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
        by_q, by_k, by_v = (each.new_empty(each.shape) for each in (q, k, v))
        shape = shape_of(q, k, v, rotation, heads)
        self.library.qkv_attend_backward(byref(shape), *pointers(q, k, v, weights, by_z, by_q, by_k, by_v))
        return by_q, by_k, by_v

    def add_dropped(self, x: Tensor | None, y: Tensor, levels: Tensor, least: int, factor: float) -> Tensor:
        result = torch.empty_like(y)
        self.library.qkv_add_dropped(*pointers(x, y, levels), least, factor, y.numel(), result.data_ptr())
        return result

    def normalize(self, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        y, rows = torch.empty_like(x), x.numel() // x.shape[-1]
        kept = x.new_empty(rows, 2)
        self.library.qkv_normalise_rows(
            *pointers(x, weight, bias), eps, rows, x.shape[-1], *pointers(y, kept)
        )
        return y, kept

    def normalize_backward(
        self, x: Tensor, weight: Tensor, kept: Tensor, by_y: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        by_x, by_weight, by_bias = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
        self.library.qkv_normalise_rows_backward(
            *pointers(x, weight, kept, by_y), len(kept), x.shape[-1], *pointers(by_x, by_weight, by_bias)
        )
        return by_x, by_weight, by_bias


def shape_of(q: Tensor, k: Tensor, v: Tensor, rotation: Tensor | None, heads: int) -> TrainingAttentionStruct:
    return TrainingAttentionStruct(
        sentences=q.shape[0],
        queries=q.shape[1],
        keys=k.shape[1],
        heads=heads,
        width=q.shape[2] // heads,
        q_stride=q.stride(1),
        k_stride=k.stride(1),
        v_stride=v.stride(1),
        rotation=None if rotation is None else rotation.data_ptr(),
    )


def pointers(*tensors: Tensor | None) -> list[int | None]:
    return [None if each is None else each.data_ptr() for each in tensors]
