"""The block of figure 1 of the paper, and the stack of N of them."""

from typing import Any

from qkv.core.stack_config import DecoderCell, StackConfig
from qkv.engine.reference.attention import Attention, Watch
from qkv.engine.reference.cache import Cache, Slot
from qkv.engine.reference.cell import SSRU
from qkv.engine.reference.functions import ACTIVATIONS, Mask
from qkv.engine.reference.layers import Weights
from qkv.engine.rounding import Floats


class FeedForward:
    """FFN(x) = σ(x W₁ + b₁) W₂ + b₂, the same for every position."""

    def __init__(self, weights: Weights, config: StackConfig):
        self.expand, self.contract = weights.linear("expand"), weights.linear("contract")
        self.activation = ACTIVATIONS[config.activation]

    def __call__(self, x: Floats) -> Floats:
        return self.contract(self.activation(self.expand(x)))


class Residual:
    """A sublayer with its shortcut and its norm, before it (pre) or after the sum (post)."""

    def __init__(self, weights: Weights, config: StackConfig, sublayer: Any):
        self.sublayer, self.pre = sublayer, config.norm == "pre"
        self.norm = weights.norm("norm", config.norm_eps)

    def __call__(self, x: Floats, *args: Any, **kwargs: Any) -> Floats:
        if self.pre:
            return x + self.sublayer(self.norm(x), *args, **kwargs)
        return self.norm(x + self.sublayer(x, *args, **kwargs))


class Block:
    """Self-attention or a recurrent cell, optional cross-attention, feed-forward."""

    def __init__(self, weights: Weights, config: StackConfig, *, cross: bool, cell: DecoderCell):
        self.cell = cell_in(weights.inside("cell"), config) if cell == "ssru" else None
        self.attention = attention_in(weights.inside("attention"), config) if cell == "attention" else None
        self.cross_attention = attention_in(weights.inside("cross_attention"), config) if cross else None
        feed = weights.inside("feed_forward")
        self.feed_forward = Residual(feed, config, FeedForward(feed.inside("sublayer"), config))

    def __call__(
        self,
        x: Floats,
        *,
        mask: Mask | None,
        rotation: Floats | None,
        memory: Floats | None,
        memory_mask: Mask | None,
        own: Any,
        cross: Slot | None,
        watch: Watch | None,
    ) -> Floats:
        if self.cell is not None:
            x = self.cell(x, cache=own)
        if self.attention is not None:
            own_watch = watch if self.cross_attention is None else None
            x = self.attention(x, mask=mask, rotation=rotation, cache=own, watch=own_watch)
        if self.cross_attention is not None:
            x = self.cross_attention(x, memory, mask=memory_mask, cache=cross, watch=watch)
        return self.feed_forward(x)


def attention_in(weights: Weights, config: StackConfig) -> Residual:
    return Residual(weights, config, Attention(weights.inside("sublayer"), config.heads))


def cell_in(weights: Weights, config: StackConfig) -> Residual:
    return Residual(weights, config, SSRU(weights.inside("sublayer")))


class Stack:
    """N blocks in sequence; pre-norm stacks end with a norm."""

    def __init__(
        self, weights: Weights, config: StackConfig, *, cross: bool = False, cell: DecoderCell = "attention"
    ):
        blocks = (weights.inside(f"blocks.{index}") for index in range(config.depth))
        self.blocks = [Block(each, config, cross=cross, cell=cell) for each in blocks]
        self.norm = weights.norm("norm", config.norm_eps) if config.norm == "pre" else None

    def __call__(
        self,
        x: Floats,
        *,
        mask: Mask | None = None,
        rotation: Floats | None = None,
        memory: Floats | None = None,
        memory_mask: Mask | None = None,
        cache: Cache | None = None,
        watch: Watch | None = None,  # of cross-attention; of self-attention if there is no other
    ) -> Floats:
        for index, block in enumerate(self.blocks):
            x = block(
                x,
                mask=mask,
                rotation=rotation,
                memory=memory,
                memory_mask=memory_mask,
                own=None if cache is None else cache.own[index],
                cross=None if cache is None else cache.cross[index],
                watch=watch if watch is not None and watch.block == index else None,
            )
        return x if self.norm is None else self.norm(x)
