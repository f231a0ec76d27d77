"""Transformer translation models: the encoder-decoder of the paper, and the decoder alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qkv.core.stack_config import StackConfig
from qkv.engine.positions import rotations, sinusoid
from qkv.engine.reference.attention import Watch, causal_mask, padding_mask
from qkv.engine.reference.block import Stack
from qkv.engine.reference.cache import Cache
from qkv.engine.reference.functions import Ints, Mask
from qkv.engine.reference.layers import Weights, look_up
from qkv.engine.reference.positions import check_position, rows_between
from qkv.engine.reference.translation import NumpyTranslationModel
from qkv.engine.rounding import Floats
from qkv.families.translator.config import OneStreamConfig, TranslatorConfig


class BlockModel(NumpyTranslationModel):
    """The common part: token embeddings with positions, and the output layer."""

    config: OneStreamConfig

    def __init__(self, config: OneStreamConfig, weights: Weights):
        self.config = config
        self.tokens = weights["tokens.weight"]
        self.source_positions, self.target_positions = (
            added_positions(config, weights, side) for side in ("source", "target")
        )
        table = self.output_table(weights)
        self.output_layer = weights.layer(table, weights["bias"] if config.output_bias else None)

    def output_table(self, weights: Weights) -> Floats:
        """The vectors of the output layer, (V, D)."""
        return self.tokens

    def embed(self, ids: Ints, positions: Floats | None, start: int, table: Floats | None = None) -> Floats:
        """Embeddings from `table`, by default that of the target."""
        check_position(start + ids.shape[1], self.config.max_length)
        tokens = (
            look_up(self.tokens if table is None else table, ids) * self.config.decoder.width**0.5
        )  # (B, T, D)
        added = rows_between(positions, start, ids.shape[1])
        return tokens if added is None else tokens + added

    def new_cache(self) -> Cache:
        return Cache(self.config.decoder.depth)

    def output(self, x: Floats) -> Floats:
        return self.output_layer(x)


class NumpyTranslator(BlockModel):
    config: TranslatorConfig

    def __init__(self, config: TranslatorConfig, weights: Mapping[str, Any], *, int8: bool):
        own = Weights(weights, int8=int8)
        super().__init__(config, own)
        self.source_tokens = self.tokens if config.source_vocab_size is None else own["source_tokens.weight"]
        self.source_rotation = rotation_of(config, config.encoder)
        self.target_rotation = rotation_of(config, config.decoder)
        self.encoder = Stack(own.inside("encoder"), config.encoder)
        self.decoder = Stack(own.inside("decoder"), config.decoder, cross=True, cell=config.decoder_cell)

    def output_table(self, weights: Weights) -> Floats:
        return self.tokens if self.config.tied_output else weights["output_tokens.weight"]

    def new_cache(self) -> Cache:
        return Cache(self.config.decoder.depth, self.config.decoder_cell)

    def encode(self, source: Ints, real: Mask) -> Floats:
        x = self.embed(source, self.source_positions, 0, self.source_tokens)
        rotation = rows_between(self.source_rotation, 0, source.shape[1])
        return self.encoder(x, mask=padding_mask(real), rotation=rotation)

    def decode(self, ids: Ints, memory: Floats, real: Mask, cache: Cache, watch: Watch | None) -> Floats:
        start, length = cache.length, ids.shape[1]
        return self.decoder(
            self.embed(ids, self.target_positions, start),
            mask=causal_mask(length, start + length),
            rotation=rows_between(self.target_rotation, start, length),
            memory=memory,
            memory_mask=padding_mask(real),
            cache=cache,
            watch=watch,
        )


class NumpyOneStream(BlockModel):
    """Reads the source and then the target as one stream. Positions restart on the target side."""

    def __init__(self, config: OneStreamConfig, weights: Mapping[str, Any], *, int8: bool):
        own = Weights(weights, int8=int8)
        super().__init__(config, own)
        self.rotation = rotation_of(config, config.decoder)
        self.sides = own["sides"]
        self.decoder = Stack(own.inside("decoder"), config.decoder)

    def encode(self, source: Ints, real: Mask) -> Ints:
        """The source ids; `decode` reads them."""
        return source

    def decode(self, ids: Ints, memory: Ints, real: Mask, cache: Cache, watch: Watch | None) -> Floats:
        """The first call also reads the source. Its keys and values stay in the cache."""
        before, sources, length = cache.length, memory.shape[1], ids.shape[1]
        generated = max(0, before - sources)  # target tokens in the cache
        x = self.embed(ids, self.target_positions, generated) + self.sides[1]
        rotation = rows_between(self.rotation, generated, length)
        if not before:
            source = self.embed(memory, self.source_positions, 0) + self.sides[0]
            x = np.concatenate([source, x], axis=1)  # (B, S + T, D)
            first = rows_between(self.rotation, 0, sources)
            if rotation is not None and first is not None:
                rotation = np.concatenate([first, rotation])
        mask = stream_mask(real, x.shape[1], before + x.shape[1])
        y = self.decoder(x, mask=mask, rotation=rotation, cache=cache, watch=watch)
        if watch is not None and watch.weights is not None:
            watch.weights = share_of_source(watch.weights[:, :, -length:, :sources])
        return y[:, -length:]  # (B, T, D)


def stream_mask(real: Mask, queries: int, keys: int) -> Mask | None:
    """The causal mask, without the padding between source and target.  (B, 1, T, S) or (T, S)"""
    causal, padding = causal_mask(queries, keys), padding_mask(real)
    if padding is None:
        return causal
    seen = np.pad(padding, ((0, 0), (0, 0), (0, 0), (0, keys - padding.shape[-1])), constant_values=True)
    return seen if causal is None else seen & causal


def share_of_source(weights: Floats) -> Floats:
    """Attention to the source alone, which then adds up to 1."""
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-9)


def added_positions(config: OneStreamConfig, weights: Weights, side: str) -> Floats | None:
    """The positions added to the embeddings of one side, (max_length, D)."""
    match config.positions:
        case "learned":
            return weights[f"{side}_positions.table"]
        case "interleaved" | "halves":
            return sinusoid(config.max_length, config.decoder.width, config.positions)
        case "none" | "rotary":
            return None


def rotation_of(config: OneStreamConfig, stack: StackConfig) -> Floats | None:
    if config.positions != "rotary":
        return None
    return rotations(config.max_length, stack.width // stack.heads)
