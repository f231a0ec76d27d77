"""Attention: the formula spelled out, and the module that holds its weights.

Shape letters of the whole core:  B batch   T query positions   S key positions   D width
                                  H heads   K width of a head   F ffn_width       V vocabulary
"""

from collections.abc import Sequence
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.cache import KeysAndValues, Slot
from qkv.core.kernels import AttentionByKernels, attention_kernels
from qkv.core.positions import rotate
from qkv.core.products import through, through_all
from qkv.core.tape import Tape


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tape: Tape | None = None) -> Tensor:
    """softmax(QKᵀ / √K) V, one line per step of the decks. A masked score becomes minus infinity."""
    scores = q @ k.transpose(-2, -1)  # (B, H, T, S)
    scaled = scores / q.shape[-1] ** 0.5
    masked = scaled if mask is None else scaled.masked_fill(~mask, float("-inf"))
    weights = masked.softmax(dim=-1)
    z = weights @ v  # (B, H, T, K)
    if tape is not None:
        for name, tensor in [
            ("scores", scores),
            ("scaled", scaled),
            ("masked", masked),
            ("weights", weights),
        ]:
            tape.record(name, tensor)
    return z


class Attention(nn.Module):
    """Multi-head attention of x to a source, or to itself."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        for linear in (self.query, self.key, self.value):
            # As one (D, 3D) matrix the three have a smaller Xavier bound than each alone.
            nn.init.xavier_uniform_(linear.weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.output.weight)
        for linear in (self.query, self.key, self.value, self.output):
            nn.init.zeros_(linear.bias)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, T, D) -> (B, H, T, K)

    def project(self, source: Tensor, rotation: Tensor | None = None) -> KeysAndValues:
        keys, values = through(self.key, source), through(self.value, source)
        return self.split_and_rotate(keys, rotation), self.split(values)

    def project_together(self, x: Tensor, source: Tensor) -> Sequence[Tensor]:
        """Queries, keys and values, with one product for each input.  (B, T, D), (B, S, D) twice"""
        if x is source:
            return through_all([self.query, self.key, self.value], x)
        return through(self.query, x), *through_all([self.key, self.value], source)

    def split_and_rotate(self, x: Tensor, rotation: Tensor | None) -> Tensor:
        heads = self.split(x)
        return heads if rotation is None else rotate(heads, rotation)

    def forward(
        self,
        x: Tensor,
        source: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        rotation: Tensor | None = None,  # (T, 2, K), for rotary positions
        cache: Slot | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        source = x if source is None else source
        dropout = self.dropout if self.training else 0.0
        kernels = attention_kernels(x, source, mask, dropout) if cache is None and tape is None else None
        if kernels is not None:
            projected = self.project_together(x, source)
            z = AttentionByKernels.apply(*projected, mask, rotation, self.heads, kernels)  # type: ignore[no-untyped-call]
            return through(self.output, z)  # (B, T, D)
        project = partial(self.project, rotation=rotation)
        q = self.split_and_rotate(through(self.query, x), rotation)  # (B, H, T, K)
        k, v = project(source) if cache is None else cache.update(project, source)
        if tape is None:
            z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        else:
            for name, tensor in [("query", q), ("key", k), ("value", v)]:
                tape.record(name, tensor)
            z = attend(q, k, v, mask, tape)
            tape.record("heads", z)
        y = through(self.output, z.transpose(1, 2).flatten(-2))  # (B, T, D)
        if tape is not None:
            tape.record("output", y)
        return y
