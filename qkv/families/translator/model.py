"""Transformer translation models: source ids in, target logits out.

Translator   the encoder-decoder Transformer of the paper (T-ED in deck 003)
OneStream    the decoder alone (T-D): source and target are one causal stream, and the loss is on the target
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.block import Stack
from qkv.core.cache import Cache
from qkv.core.dropout import Dropout
from qkv.core.masks import causal_mask
from qkv.core.pairs import TranslationModel, joint_embedding, source_mask
from qkv.core.positions import LearnedPositions, NoPositions, RotaryPositions, SinusoidalPositions
from qkv.core.stack_config import StackConfig
from qkv.core.tape import Tape, inside
from qkv.families.translator.config import OneStreamConfig, TranslatorConfig


class BlockModel(TranslationModel):
    """The common part: token embeddings with positions."""

    config: OneStreamConfig

    def __init__(self, config: OneStreamConfig):
        super().__init__()
        self.config = config
        self.tokens = joint_embedding(config.vocab_size, config.decoder.width)
        self.source_positions = added_positions(config)
        self.target_positions = added_positions(config)
        self.dropout = Dropout(config.decoder.dropout)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None

    def embed(
        self,
        ids: Tensor,
        positions: Tensor | None,
        tape: Tape | None = None,
        table: nn.Embedding | None = None,
    ) -> Tensor:
        """Embeddings from `table`, by default that of the target."""
        tokens = (self.tokens if table is None else table)(ids) * self.config.decoder.width**0.5  # (B, T, D)
        total = tokens if positions is None else tokens + positions
        if tape is not None:
            for name, tensor in [("tokens", tokens), ("positions", positions), ("embedded", total)]:
                if tensor is not None:
                    tape.record(name, tensor)
        embedded: Tensor = self.dropout(total)
        return embedded

    def new_cache(self) -> Cache:
        return Cache(self.config.decoder.depth)


class Translator(BlockModel):
    config: TranslatorConfig

    def __init__(self, config: TranslatorConfig):
        super().__init__(config)
        width = config.decoder.width
        own = config.source_vocab_size
        self.source_tokens = None if own is None else joint_embedding(own, width)
        self.output_tokens = None if config.tied_output else joint_embedding(config.vocab_size, width)
        self.source_rotation = rotations(config, config.encoder)
        self.target_rotation = rotations(config, config.decoder)
        self.encoder = Stack(config.encoder)
        self.decoder = Stack(config.decoder, cross=True, cell=config.decoder_cell)

    @property
    def output_table(self) -> nn.Embedding:
        return self.tokens if self.output_tokens is None else self.output_tokens

    def new_cache(self) -> Cache:
        return Cache(self.config.decoder.depth, self.config.decoder_cell)

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """The memory that the decoder attends to, (B, S, D), and its mask, (B, 1, 1, S)."""
        mask = source_mask(source, self.config.pad)
        tape = inside(tape, "encoder")
        length = source.shape[1]
        x = self.embed(source, positions_at(self.source_positions, 0, length), tape, self.source_tokens)
        rotation = positions_at(self.source_rotation, 0, length)
        return self.encoder(x, mask=mask, rotation=rotation, tape=tape), mask

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Cache | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """Target padding is at the end, so the causal mask hides it from every real token."""
        start, length = (0 if cache is None else cache.length), ids.shape[1]
        tape = inside(tape, "decoder")
        x = self.embed(ids, positions_at(self.target_positions, start, length), tape)
        y: Tensor = self.decoder(
            x,
            mask=causal_mask(length, start + length, ids.device),
            rotation=positions_at(self.target_rotation, start, length),
            memory=memory,
            memory_mask=memory_mask,
            cache=cache,
            tape=tape,
        )
        return y


class OneStream(BlockModel):
    """No separate encoder: the decoder reads the source and then the target as one stream.

    Positions restart on the target side, so padding between the two changes nothing. A learned vector marks each side.
    """

    def __init__(self, config: OneStreamConfig):
        super().__init__(config)
        self.rotation = rotations(config, config.decoder)
        self.sides = nn.Parameter(torch.randn(2, config.decoder.width) * 0.02)
        self.decoder = Stack(config.decoder)

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """The source ids, (B, S), and their mask; `decode` reads them."""
        return source, source_mask(source, self.config.pad)

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Cache | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """The first call also reads the source. Its keys and values stay in the cache."""
        before, sources, length = (0 if cache is None else cache.length), memory.shape[1], ids.shape[1]
        inner = (
            None
            if tape is None
            else Tape(only=tape.only and tape.only.replace("cross_attention", "attention"))
        )
        generated = max(0, before - sources)  # target tokens in the cache
        x = self.embed(ids, positions_at(self.target_positions, generated, length)) + self.sides[1]
        rotation = positions_at(self.rotation, generated, length)
        if not before:
            source = self.embed(memory, positions_at(self.source_positions, 0, sources)) + self.sides[0]
            x = torch.cat([source, x], dim=1)  # (B, S + T, D)
            if rotation is not None:
                rotation = torch.cat([self.rotation(0, sources), rotation])  # type: ignore[misc]
        keys = before + x.shape[1]
        seen = F.pad(memory_mask, (0, keys - sources), value=True)  # (B, 1, 1, S + T)
        y = self.decoder(
            x,
            mask=causal_mask(x.shape[1], keys, ids.device) & seen,
            rotation=rotation,
            cache=cache,
            tape=inside(inner, "decoder"),
        )
        if tape is not None and inner is not None:
            record_cross_attention(tape, inner, sources, length)
        return y[:, -length:]  # (B, T, D)


def record_cross_attention(tape: Tape, inner: Tape, sources: int, length: int) -> None:
    """Copy the recorded values. Attention of the target on the source is recorded as cross-attention."""
    for name, tensor in inner.tensors.items():
        tape.record(name, tensor)
        if name.endswith(".attention.weights"):
            weights = tensor[:, :, -length:, :sources]  # (B, H, T, S)
            share = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)
            tape.record(name.replace(".attention.", ".cross_attention."), share)


def added_positions(config: OneStreamConfig) -> nn.Module | None:
    """The positions added to the embeddings of one side; None for rotary positions."""
    width = config.decoder.width
    match config.positions:
        case "learned":
            return LearnedPositions(config.max_length, width)
        case "interleaved" | "halves":
            return SinusoidalPositions(config.max_length, width, config.positions)
        case "none":
            return NoPositions(config.max_length, width)
        case "rotary":
            return None


def rotations(config: OneStreamConfig, stack: StackConfig) -> nn.Module | None:
    """The rotation of queries and keys in self-attention; None unless positions are rotary."""
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.max_length, stack.width // stack.heads)


def positions_at(positions: nn.Module | None, start: int, length: int) -> Tensor | None:
    found: Tensor | None = None if positions is None else positions(start, length)
    return found
