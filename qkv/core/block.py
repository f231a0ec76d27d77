"""The block of figure 1 of the paper, and the stack of N of them. Every model in qkv is made of this.

    post-norm (the paper)                 pre-norm (GPT-2, ViT)
x ─┬─► sublayer ─► dropout ─(+)─► norm    x ─┬─► norm ─► sublayer ─► dropout ─(+)─►
   └────────────────────────┘                └─────────────────────────────────┘
"""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.attention import Attention
from qkv.core.cache import BlockCache, Cache
from qkv.core.cell import SSRU
from qkv.core.dropout import Dropout
from qkv.core.kernels import norm
from qkv.core.masks import as_scores
from qkv.core.products import through
from qkv.core.stack_config import DecoderCell, StackConfig
from qkv.core.tape import Tape, inside


def gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": gelu_tanh,
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """FFN(x) = σ(x W₁ + b₁) W₂ + b₂, the same for every position."""

    def __init__(self, config: StackConfig):
        super().__init__()
        self.expand = nn.Linear(config.width, config.ffn_width)
        self.activation = ACTIVATIONS[config.activation]
        self.contract = nn.Linear(config.ffn_width, config.width)
        for linear in (self.expand, self.contract):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, *, tape: Tape | None = None) -> Tensor:
        hidden = self.activation(through(self.expand, x))  # (B, T, F)
        y = through(self.contract, hidden)  # (B, T, D)
        if tape is not None:
            tape.record("hidden", hidden)
            tape.record("output", y)
        return y


class Residual(nn.Module):
    """A sublayer with its shortcut and its norm. Only this code distinguishes pre-norm from post-norm."""

    def __init__(self, config: StackConfig, sublayer: nn.Module):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Tensor, *args: Any, tape: Tape | None = None, **kwargs: Any) -> Tensor:
        if self.pre:
            normed = norm(self.norm, x)
            result = self.dropout.added(x, self.sublayer(normed, *args, tape=tape, **kwargs))
        else:
            total = self.dropout.added(x, self.sublayer(x, *args, tape=tape, **kwargs))
            result = norm(self.norm, total)
        if tape is not None:
            tape.record("normed" if self.pre else "sum", normed if self.pre else total)
            tape.record("result", result)
        return result


class Block(nn.Module):
    """Self-attention or a recurrent cell, optional cross-attention, feed-forward."""

    def __init__(self, config: StackConfig, *, cross: bool, cell: DecoderCell):
        super().__init__()
        if cell == "attention":
            self.attention = Residual(config, attention_of(config))
        else:
            self.cell = Residual(config, SSRU(config.width))
        self.has_cell = cell != "attention"
        self.cross_attention = Residual(config, attention_of(config)) if cross else None
        self.feed_forward = Residual(config, FeedForward(config))

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None,
        rotation: Tensor | None,
        memory: Tensor | None,
        memory_mask: Tensor | None,
        cache: BlockCache | None,
        tape: Tape | None,
    ) -> Tensor:
        own, cross = (None, None) if cache is None else (cache.own, cache.cross)
        if self.has_cell:
            x = self.cell(x, cache=own, tape=inside(tape, "cell"))
        else:
            x = self.attention(x, mask=mask, rotation=rotation, cache=own, tape=inside(tape, "attention"))
        if self.cross_attention is not None:
            tape_inside = inside(tape, "cross_attention")
            x = self.cross_attention(x, memory, mask=memory_mask, cache=cross, tape=tape_inside)
        x = self.feed_forward(x, tape=inside(tape, "feed_forward"))
        return x


def attention_of(config: StackConfig) -> Attention:
    return Attention(config.width, config.heads, config.attention_dropout)


class Stack(nn.Module):
    """N blocks in sequence; pre-norm stacks end with a norm."""

    def __init__(self, config: StackConfig, *, cross: bool = False, cell: DecoderCell = "attention"):
        super().__init__()
        self.blocks = nn.ModuleList(Block(config, cross=cross, cell=cell) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.width, eps=config.norm_eps) if config.norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        rotation: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: Cache | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        if tape is None:  # otherwise the fused path would convert them in every block
            mask, memory_mask = (
                None if each is None else as_scores(each, x.dtype) for each in (mask, memory_mask)
            )
        for index, block in enumerate(self.blocks):
            x = block(
                x,
                mask=mask,
                rotation=rotation,
                memory=memory,
                memory_mask=memory_mask,
                cache=None if cache is None else cache.blocks[index],
                tape=inside(tape, str(index)),
            )
        y = norm(self.norm, x)
        if tape is not None:
            tape.record("output", y)
        return y
