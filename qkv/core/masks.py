"""Attention masks: boolean, broadcast to (B, H, T, S), True means "may attend"."""

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Each query attends to keys up to its own position; the last query to all of them.  (T, S)

    With a cache there are more keys than queries, so the triangle is shifted by the difference.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Every query attends to the keys that are not padding.  (B, S) -> (B, 1, 1, S)"""
    return (ids != pad)[:, None, None, :]


def as_scores(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as an addition to the scores: 0 where attention is allowed, minus infinity elsewhere."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
