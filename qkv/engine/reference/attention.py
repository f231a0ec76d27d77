"""Multi-head attention: softmax(QKᵀ / √K) V."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from qkv.engine.reference.cache import KeysAndValues, Slot
from qkv.engine.reference.functions import Mask, softmax
from qkv.engine.reference.layers import Weights
from qkv.engine.reference.positions import rotate
from qkv.engine.rounding import Floats


@dataclass
class Watch:
    """Records the attention weights of one block, (B, H, T, S)."""

    block: int
    weights: Floats | None = None


class Attention:
    def __init__(self, weights: Weights, heads: int):
        self.heads = heads
        self.query, self.key, self.value = (weights.linear(name) for name in ("query", "key", "value"))
        self.output = weights.linear("output", heads=heads)

    def split(self, x: Floats) -> Floats:
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).swapaxes(1, 2)  # (B, H, T, K)

    def project(self, source: Floats, rotation: Floats | None) -> KeysAndValues:
        keys, values = self.split(self.key(source)), self.split(self.value(source))
        return keys if rotation is None else rotate(keys, rotation), values

    def __call__(
        self,
        x: Floats,
        source: Floats | None = None,
        *,
        mask: Mask | None = None,  # True means "may attend"; broadcast to (B, H, T, S)
        rotation: Floats | None = None,  # (T, 2, K), for rotary positions
        cache: Slot | None = None,
        watch: Watch | None = None,
    ) -> Floats:
        source = x if source is None else source
        project = partial(self.project, rotation=rotation)
        q = self.split(self.query(x))
        if rotation is not None:
            q = rotate(q, rotation)
        k, v = project(source) if cache is None else cache.update(project, source)
        scores = (q * q.shape[-1] ** -0.5) @ k.swapaxes(-2, -1)  # (B, H, T, S)
        shares = softmax(scores if mask is None else np.where(mask, scores, np.float32(-np.inf)))
        if watch is not None:
            watch.weights = shares
        z = shares @ v  # (B, H, T, K)
        return self.output(z.swapaxes(1, 2).reshape(x.shape[0], x.shape[1], -1))


def causal_mask(queries: int, keys: int) -> Mask | None:
    """Each query attends to keys up to its own position; the last one to all, so a single one needs no mask.  (T, S)"""
    return None if queries == 1 else np.tri(queries, keys, keys - queries, dtype=bool)


def padding_mask(real: Any) -> Mask | None:
    """Every query attends to the keys that are not padding.  (B, S) -> (B, 1, 1, S)"""
    return None if real.all() else real[:, None, None, :]
