"""Who may look at whom. Masks are boolean, broadcast to (B, H, T, S), and True means "may look"."""

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Each query sees the keys up to its own position; the last query sees all of them.  (T, S)

    With a cache there are more keys than queries, so the triangle is shifted by the difference.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Every query sees the keys that are not padding.  (B, S) -> (B, 1, 1, S)"""
    return (ids != pad)[:, None, None, :]


def as_scores(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the scores in place of the mask: nothing where one may look, minus infinity elsewhere."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
