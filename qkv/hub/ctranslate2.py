"""A translator as a folder of CTranslate2 (https://github.com/OpenNMT/CTranslate2)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from qkv.core.block import Block, StackConfig
from qkv.errors import UserError
from qkv.models.translator import Translator, TranslatorConfig

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "swish": "SWISH"}


def save_ctranslate2(model: Translator, pieces: Sequence[str], folder: Path) -> None:
    """Write the model in float32; CTranslate2 rounds the weights when it opens them, as it is told to.

    `pieces` are the names of the ids, each of them once; sources are given to it without their end mark.
    """
    try:
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError:
        raise UserError("CTranslate2 is not installed: pip install ctranslate2.") from None
    config = model.config
    check(config, pieces)
    encoder, decoder = (stack_options(config, each) for each in (config.encoder, config.decoder))
    activations = common_spec.Activation
    spec: Any = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(
            activation=activations[ACTIVATIONS[config.encoder.activation]], **encoder
        ),
        transformer_spec.TransformerDecoderSpec(
            activation=activations[ACTIVATIONS[config.decoder.activation]], **decoder
        ),
    )
    tokens = numbers(model.tokens.weight)
    sides = (spec.encoder, model.encoder), (spec.decoder, model.decoder)
    for (side, stack), positions in zip(sides, (model.source_positions, model.target_positions), strict=True):
        for embeddings in side.embeddings if isinstance(side.embeddings, list) else [side.embeddings]:
            embeddings.weight = tokens
        if positions is not None:
            side.position_encodings.encodings = numbers(positions.table)  # type: ignore[arg-type]
        if isinstance(stack.norm, nn.LayerNorm):
            fill_norm(side.layer_norm, stack.norm)
        for layer, block in zip(side.layer, stack.blocks, strict=True):
            fill_block(layer, block)  # type: ignore[arg-type]
    spec.decoder.projection.weight = tokens
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    fill_config(spec.config, config, pieces)
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def check(config: TranslatorConfig, pieces: Sequence[str]) -> None:
    if len(set(pieces)) != config.vocab:
        raise ValueError("every id needs a name of its own")
    if config.encoder.norm_eps != config.decoder.norm_eps:
        raise UserError("CTranslate2 has one epsilon for all norms, and this model has two.")
    if config.positions == "rotary":
        raise UserError("rotary positions in a translator are not written for CTranslate2.")


def stack_options(config: TranslatorConfig, stack: StackConfig) -> dict[str, Any]:
    return {"num_layers": stack.depth, "num_heads": stack.heads, "pre_norm": stack.norm == "pre"}


def fill_config(config: Any, own: TranslatorConfig, pieces: Sequence[str]) -> None:
    config.bos_token = config.decoder_start_token = pieces[own.start]
    config.eos_token = pieces[own.end]
    config.unk_token = pieces[own.pad]  # there is none: every byte has a piece
    config.add_source_eos = True
    config.layer_norm_epsilon = own.encoder.norm_eps


def fill_block(layer: Any, block: Block) -> None:
    own: Any = block.attention.sublayer
    fill_norm(layer.self_attention.layer_norm, block.attention.norm)
    fill_linear(layer.self_attention.linear[0], own.query, own.key, own.value)
    fill_linear(layer.self_attention.linear[1], own.output)
    if block.cross_attention is not None:
        cross: Any = block.cross_attention.sublayer
        fill_norm(layer.attention.layer_norm, block.cross_attention.norm)
        fill_linear(layer.attention.linear[0], cross.query)
        fill_linear(layer.attention.linear[1], cross.key, cross.value)
        fill_linear(layer.attention.linear[2], cross.output)
    feed: Any = block.feed_forward.sublayer
    fill_norm(layer.ffn.layer_norm, block.feed_forward.norm)
    fill_linear(layer.ffn.linear_0, feed.expand)
    fill_linear(layer.ffn.linear_1, feed.contract)


def fill_linear(spec: Any, *linears: nn.Linear) -> None:
    spec.weight = numbers(torch.cat([each.weight for each in linears]))
    spec.bias = numbers(torch.cat([each.bias for each in linears]))


def fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = numbers(norm.weight), numbers(norm.bias)


def numbers(tensor: Tensor) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    return tensor.detach().float().cpu().contiguous().numpy()
