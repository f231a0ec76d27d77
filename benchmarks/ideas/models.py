"""The Translator with one change each. All train on the compiled kernels and 16-bit products, like the model itself."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.attention import Attention
from qkv.core.block import Stack
from qkv.core.kernels import AttentionByKernels, attention_kernels
from qkv.core.positions import rotate
from qkv.core.products import through, through_all
from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape
from qkv.families.translator.config import TranslatorConfig
from qkv.families.translator.model import Translator

BIGRAMS = 8_192  # rows of the table of hashed bigrams
GATE_INPUTS = 16  # columns that a head's gate reads


def attend_in_one(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rotation: Tensor | None, heads: int
) -> Tensor:
    """Attention of (B, T, D) and (B, S, D) without cache and tape: by kernels, or by torch for long sentences."""
    if (kernels := attention_kernels(q, k, mask, 0.0)) is not None:
        z: Tensor = AttentionByKernels.apply(q, k, v, mask, rotation, heads, kernels)  # type: ignore[no-untyped-call]
        return z
    q, k, v = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in (q, k, v))
    if rotation is not None:
        q, k = rotate(q, rotation), rotate(k, rotation)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(-2)


class Projecting(Attention):
    """Attention in three steps that subclasses change."""

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        source: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        rotation: Tensor | None = None,
        **_: Any,
    ) -> Tensor:
        q, k, v = self.project_together(x, x if source is None else source)
        z = attend_in_one(q, k, self.changed_values(v), mask, rotation, self.heads)
        return through(self.output, self.changed_heads(x, z))

    def changed_values(self, v: Tensor) -> Tensor:
        return v

    def changed_heads(self, x: Tensor, z: Tensor) -> Tensor:
        return z


class ValueResidual(Projecting):
    """Values are mixed with those of the first block (Zhou et al., 2024; modded-nanogpt)."""

    def __init__(self, width: int, heads: int, first: "ValueResidual | None"):
        super().__init__(width, heads, 0.0)
        self.first = [first]  # in a list, so that it is not a submodule twice
        self.mix = None if first is None else nn.Parameter(torch.tensor([0.5]))
        self.newest: Tensor | None = None

    def changed_values(self, v: Tensor) -> Tensor:
        first = self.first[0]
        if first is None or self.mix is None:
            self.newest = v
            return v
        assert first.newest is not None
        return v + self.mix * (first.newest - v)


class GatedHeads(Projecting):
    """Each head's output times a gate of its input, at first 1."""

    def __init__(self, width: int, heads: int):
        super().__init__(width, heads, 0.0)
        self.gate = nn.Parameter(torch.zeros(heads, GATE_INPUTS))

    def changed_heads(self, x: Tensor, z: Tensor) -> Tensor:
        gates = 2 * torch.sigmoid(x[..., :GATE_INPUTS] @ self.gate.T)  # (B, T, H)
        return (z.unflatten(-1, (self.heads, -1)) * gates[..., None]).flatten(-2)


class SwiGLU(nn.Module):
    """(swish(x W₁) · x W₃) W₂ with two thirds of the hidden width: the same number of weights."""

    def __init__(self, config: StackConfig):
        super().__init__()
        hidden = round(config.ffn_width * 2 / 3 / 8) * 8
        self.gate, self.expand = nn.Linear(config.width, hidden), nn.Linear(config.width, hidden)
        self.contract = nn.Linear(hidden, config.width)
        for linear in (self.gate, self.expand, self.contract):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, *, tape: Tape | None = None) -> Tensor:
        gate, hidden = through_all([self.gate, self.expand], x)
        return through(self.contract, F.silu(gate) * hidden)


class BigramTranslator(Translator):
    """A table of hashed bigrams is added to the embeddings (modded-nanogpt). At first it is zero."""

    def __init__(self, config: TranslatorConfig):
        super().__init__(config)
        self.bigrams = nn.Embedding(BIGRAMS, config.decoder.width)
        nn.init.zeros_(self.bigrams.weight)

    def embed(self, ids: Tensor, positions: Tensor | None, tape: Tape | None = None) -> Tensor:
        before = F.pad(ids[:, :-1], (1, 0))  # (B, T)
        hashed = (before * 36_313 ^ ids * 27_191) % BIGRAMS
        total = (self.tokens(ids) + self.bigrams(hashed)) * self.config.decoder.width**0.5  # (B, T, D)
        embedded: Tensor = self.dropout(total if positions is None else total + positions)
        return embedded


def own_attentions(stack: Stack) -> Sequence[Any]:
    return [block.attention for block in stack.blocks]


def with_value_residual(model: Translator) -> None:
    for stack, config in ((model.encoder, model.config.encoder), (model.decoder, model.config.decoder)):
        first: ValueResidual | None = None
        for residual in own_attentions(stack):
            residual.sublayer = ValueResidual(config.width, config.heads, first)
            first = first or residual.sublayer


def with_head_gates(model: Translator) -> None:
    for stack, config in ((model.encoder, model.config.encoder), (model.decoder, model.config.decoder)):
        for block in stack.blocks:
            for residual in (block.attention, block.cross_attention):
                if residual is not None:
                    residual.sublayer = GatedHeads(config.width, config.heads)  # type: ignore[union-attr]


def with_swiglu(model: Translator) -> None:
    for stack, config in ((model.encoder, model.config.encoder), (model.decoder, model.config.decoder)):
        for block in stack.blocks:
            block.feed_forward.sublayer = SwiGLU(config)  # type: ignore[union-attr]
