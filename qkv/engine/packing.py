"""Lays out the weights of a model for the compiled loops, once when it is opened."""

import ctypes
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.attention import Attention
from qkv.core.block import Block, Residual, Stack
from qkv.core.positions import RotaryPositions
from qkv.core.stack_config import StackConfig
from qkv.engine.library import (
    AttentionStruct,
    BlockStruct,
    LinearStruct,
    ModelStruct,
    NormStruct,
    StackStruct,
)
from qkv.engine.memory import Memory
from qkv.engine.rounding import UNIT, heads_apart, padded, rounded, up_to_unit
from qkv.errors import UserError
from qkv.families.bert.model import Encoder
from qkv.families.gpt.model import GPT
from qkv.families.translator.model import Translator

ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "swish")  # numbered as in kernel.cpp


class Packed:
    """A model for the compiled library, and the memory that it points to."""

    def __init__(self, *, int8: bool):
        self.int8 = int8
        self.memory = Memory()
        self.kept: list[Any] = []
        self.struct = ModelStruct(rounded=int8)

    @classmethod
    def translator(cls, model: Translator, *, int8: bool) -> "Packed":
        packed, config = cls(int8=int8), model.config
        struct = packed.struct
        sides = (
            (model.source_positions, model.source_rotation),
            (model.target_positions, model.target_rotation),
        )
        struct.encoder = packed.stack(model.encoder, config.encoder, *sides[0])
        struct.decoder = packed.stack(model.decoder, config.decoder, *sides[1])
        packed.vocabulary(model.tokens.weight.detach(), config.encoder.width**0.5, model.bias)
        return packed

    @classmethod
    def gpt(cls, model: GPT, *, int8: bool) -> "Packed":
        packed, config = cls(int8=int8), model.config
        packed.struct.decoder = packed.stack(model.stack, config.stack, model.positions, model.rotation)
        packed.vocabulary(model.tokens.weight.detach(), 1.0, None)
        return packed

    @classmethod
    def encoder(cls, model: Encoder, *, int8: bool) -> "Packed":
        packed = cls(int8=int8)
        packed.struct.encoder = packed.stack(model.stack, model.config.stack, model.positions, None)
        packed.struct.tokens = packed.floats(columns_padded(model.tokens.weight))
        packed.struct.segments = packed.floats(columns_padded(model.segments.weight))
        packed.struct.first, packed.struct.token_scale = packed.norm(model.norm), 1.0
        return packed

    def vocabulary(self, tokens: Tensor, scale: float, bias: Tensor | None) -> None:
        """The embeddings: scaled for input, unscaled for the output layer."""
        self.struct.vocab, self.struct.token_scale = len(tokens), scale
        self.struct.tokens = self.floats(columns_padded(tokens))
        self.struct.output = self.linear(tokens, bias)

    def stack(
        self, stack: Stack, config: StackConfig, positions: nn.Module | None, rotation: nn.Module | None
    ) -> StackStruct:
        blocks = (BlockStruct * config.depth)(*(self.block(block) for block in stack.blocks))  # type: ignore[arg-type]
        self.kept.append(blocks)
        first: Any = stack.blocks[0]
        head = config.width // config.heads
        return StackStruct(
            blocks=ctypes.cast(blocks, ctypes.POINTER(BlockStruct)),
            last=self.norm(stack.norm) if isinstance(stack.norm, nn.LayerNorm) else NormStruct(),
            positions=None if positions is None else self.floats(columns_padded(table_of(positions))),
            rotation=self.floats(rotation.table) if isinstance(rotation, RotaryPositions) else None,
            depth=config.depth,
            width=config.width,
            heads=config.heads,
            head=up_to_unit(head),
            turned=head,
            pre=config.norm == "pre",
            activation=ACTIVATIONS.index(config.activation),
            cross=first.cross_attention is not None,
            epsilon=config.norm_eps,
        )

    def block(self, block: Block) -> BlockStruct:
        feed: Any = block.feed_forward.sublayer
        cross = block.cross_attention
        return BlockStruct(
            own=self.attention(block.attention, looks_at_itself=True),
            cross=AttentionStruct() if cross is None else self.attention(cross, looks_at_itself=False),
            norm=self.norm(block.feed_forward.norm),
            expand=self.linear(feed.expand.weight, feed.expand.bias),
            contract=self.linear(feed.contract.weight, feed.contract.bias),
        )

    def attention(self, residual: Residual, *, looks_at_itself: bool) -> AttentionStruct:
        attention: Any = residual.sublayer
        query, key, value = (rows_apart(attention, each) for each in ("query", "key", "value"))
        scale = (attention.query.weight.shape[0] // attention.heads) ** -0.5
        query = query[0] * scale, query[1] * scale  # once, instead of for every score
        first, second = ([query, key, value], []) if looks_at_itself else ([query], [key, value])
        output = attention.output
        return AttentionStruct(
            norm=self.norm(residual.norm),
            project=self.joined(first),
            memory=self.joined(second) if second else LinearStruct(),
            output=self.linear(heads_apart(output.weight, attention.heads), output.bias),
        )

    def joined(self, parts: list[tuple[Tensor, Tensor]]) -> LinearStruct:
        weights, biases = zip(*parts, strict=True)
        return self.linear(torch.cat(weights), torch.cat(biases))

    def linear(self, weight: Tensor, bias: Tensor | None) -> LinearStruct:
        whole = padded(check_finite(weight.detach().float()))
        outputs, inputs = whole.shape
        struct = LinearStruct(inputs=inputs, outputs=outputs)
        if bias is not None:
            struct.bias = self.floats(F.pad(bias, (0, outputs - len(bias))))
        if not self.int8:
            struct.weight = self.large(whole.view(-1, UNIT, inputs).transpose(1, 2))
            return struct
        whole, scale = rounded(whole)
        struct.scale, struct.sum = self.floats(scale), self.floats(scale * whole.sum(1))
        fours = whole.to(torch.int8).view(-1, UNIT, inputs // 4, 4)
        struct.weight = self.large(fours.transpose(1, 2))
        return struct

    def large(self, tensor: Tensor) -> int:
        return self.pointer(self.memory.placed(tensor))

    def norm(self, norm: nn.LayerNorm) -> NormStruct:
        weight, bias = (self.floats(columns_padded(each[None])[0]) for each in (norm.weight, norm.bias))
        return NormStruct(weight=weight, bias=bias)

    def floats(self, tensor: Tensor) -> int:
        return self.pointer(check_finite(tensor.detach().float().contiguous()))

    def pointer(self, tensor: Tensor) -> int:
        self.kept.append(tensor)
        return tensor.data_ptr()


def check_finite(weights: Tensor) -> Tensor:
    """Check for NaN and infinite weights, which the compiled loops could hide."""
    if not weights.isfinite().all():
        raise UserError("some of the model's weights are NaN or infinite: it is broken. Train it again.")
    return weights


def rows_apart(attention: Attention, name: str) -> tuple[Tensor, Tensor]:
    """Weight and bias of a projection, with every head's outputs padded to a multiple of 16."""
    linear: Any = getattr(attention, name)
    weight, bias = linear.weight.detach().float(), linear.bias.detach().float()
    return heads_apart(weight.T, attention.heads).T, heads_apart(bias, attention.heads)


def columns_padded(table: Tensor) -> Tensor:
    missing = up_to_unit(table.shape[1]) - table.shape[1]
    return F.pad(table.detach(), (0, missing)) if missing else table.detach()


def table_of(positions: nn.Module) -> Tensor:
    table: Any = positions.table
    return table
