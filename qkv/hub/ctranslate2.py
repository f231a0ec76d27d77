"""Our models as folders of CTranslate2 (https://github.com/OpenNMT/CTranslate2): translators, GPTs and BERTs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from qkv.core.block import Block, Stack, StackConfig
from qkv.core.positions import RotaryPositions
from qkv.errors import UserError
from qkv.families.bert.model import Bert
from qkv.families.gpt.model import GPT
from qkv.families.translator.model import Translator, TranslatorConfig

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "swish": "SWISH"}
NEVER_SAID = -1e9  # added to a logit
Numbers = Literal["float32", "int8"]


def save_ctranslate2(
    model: Translator,
    pieces: Sequence[str],
    folder: Path,
    *,
    numbers: Numbers = "float32",
    unknown: int | None = None,
) -> None:
    """Write a translator. In float32 CTranslate2 rounds the weights when it opens them, as it is told to.

    `pieces` are the names of the ids, each of them once; sources are given to it without their end mark.
    """
    _, transformer = specs()
    config = model.config
    check(config, pieces)
    spec = transformer.TransformerSpec(
        transformer.TransformerEncoderSpec(**stack_options(config.encoder, model.source_rotation)),
        transformer.TransformerDecoderSpec(**stack_options(config.decoder, model.target_rotation)),
    )
    tokens = as_array(model.tokens.weight)
    for side, stack, positions in (
        (spec.encoder, model.encoder, model.source_positions),
        (spec.decoder, model.decoder, model.target_positions),
    ):
        for embeddings in side.embeddings if isinstance(side.embeddings, list) else [side.embeddings]:
            embeddings.weight = tokens
        fill_stack(side, stack, table_of(positions, config))
    spec.decoder.projection.weight = tokens
    bias = output_bias(model)
    if bias is not None:
        spec.decoder.projection.bias = as_array(bias)
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    told = spec.config
    told.bos_token = told.decoder_start_token = pieces[config.start]
    told.eos_token = pieces[config.end]
    told.unk_token = pieces[config.pad if unknown is None else unknown]  # of ours every byte has a piece
    told.add_source_eos = True
    told.layer_norm_epsilon = config.encoder.norm_eps
    write(spec, folder, numbers)


def output_bias(model: Translator) -> Tensor | None:
    """Marian's padding, which a translation begins with, must not come again: CTranslate2 knows no rule for that."""
    config = model.config
    if config.pad != config.start:
        return model.bias
    bias = torch.zeros(config.vocab) if model.bias is None else model.bias.detach().clone()
    bias[config.pad] = NEVER_SAID
    return bias


def save_gpt(model: GPT, pieces: Sequence[str], folder: Path, *, numbers: Numbers = "float32") -> None:
    """Write a language model, for CTranslate2's Generator."""
    _, transformer = specs()
    config = model.config
    spec = transformer.TransformerDecoderModelSpec(
        transformer.TransformerDecoderSpec(
            **stack_options(config.stack, model.rotation), with_encoder_attention=False
        )
    )
    spec.decoder.scale_embeddings = False
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = as_array(model.tokens.weight)
    fill_stack(
        spec.decoder, model.stack, None if model.positions is None else as_array(model.positions.table)
    )
    spec.register_vocabulary(list(pieces))
    told = spec.config
    told.bos_token = told.eos_token = told.unk_token = pieces[config.end]
    told.layer_norm_epsilon = config.stack.norm_eps
    write(spec, folder, numbers)


def save_bert(
    model: Bert, pieces: Sequence[str], unknown: int, folder: Path, *, numbers: Numbers = "float32"
) -> None:
    """Write an encoder and its pooler, for CTranslate2's Encoder: heads for words and labels have no place there."""
    common, transformer = specs()
    config = model.config.encoder
    encoder = transformer.TransformerEncoderSpec(
        **stack_options(config.stack, None),
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=common.EmbeddingsMerge.ADD,
    )
    spec = transformer.TransformerEncoderModelSpec(
        encoder, pooling_layer=model.pooler is not None, pooling_activation=common.Activation.Tanh
    )
    spec.encoder.scale_embeddings = False
    spec.encoder.embeddings[0].weight = as_array(model.encoder.tokens.weight)
    spec.encoder.embeddings[1].weight = as_array(model.encoder.segments.weight)
    fill_norm(spec.encoder.layernorm_embedding, model.encoder.norm)
    fill_stack(spec.encoder, model.encoder.stack, as_array(model.encoder.positions.table))
    if model.pooler is not None:
        fill_linear(spec.pooler_dense, model.pooler.linear)
    spec.register_vocabulary(list(pieces))
    spec.config.unk_token = pieces[unknown]
    spec.config.layer_norm_epsilon = config.stack.norm_eps
    write(spec, folder, numbers)


def specs() -> tuple[Any, Any]:
    try:
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError:
        raise UserError("CTranslate2 is not installed: pip install ctranslate2.") from None
    return common_spec, transformer_spec


def write(spec: Any, folder: Path, numbers: Numbers) -> None:
    spec.validate()
    spec.optimize(quantization=None if numbers == "float32" else numbers)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def check(config: TranslatorConfig, pieces: Sequence[str]) -> None:
    if len(set(pieces)) != config.vocab:
        raise ValueError("every id needs a name of its own")
    if config.encoder.norm_eps != config.decoder.norm_eps:
        raise UserError("CTranslate2 has one epsilon for all norms, and this model has two.")


def stack_options(stack: StackConfig, rotation: nn.Module | None) -> dict[str, Any]:
    """Rotary positions turn all columns of a head, column i with column i + K/2."""
    common, _ = specs()
    rotary = {"rotary_dim": 0, "rotary_interleave": False} if isinstance(rotation, RotaryPositions) else {}
    return {
        "num_layers": stack.depth,
        "num_heads": stack.heads,
        "pre_norm": stack.norm == "pre",
        "activation": common.Activation[ACTIVATIONS[stack.activation]],
        **rotary,
    }


def table_of(positions: nn.Module | None, config: TranslatorConfig) -> Any:
    """What is added to the embeddings: nothing, where positions are rotary."""
    if positions is None:
        return np.zeros((config.context, config.encoder.width), dtype=np.float32)
    return as_array(positions.table)  # type: ignore[arg-type]


def fill_stack(side: Any, stack: Stack, positions: Any) -> None:
    if hasattr(side, "position_encodings"):  # its encoder has a place for them always
        side.position_encodings.encodings = positions
    if isinstance(stack.norm, nn.LayerNorm):
        fill_norm(side.layer_norm, stack.norm)
    for layer, block in zip(side.layer, stack.blocks, strict=True):
        fill_block(layer, block)  # type: ignore[arg-type]


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
    spec.weight = as_array(torch.cat([each.weight for each in linears]))
    spec.bias = as_array(torch.cat([each.bias for each in linears]))


def fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = as_array(norm.weight), as_array(norm.bias)


def as_array(tensor: Tensor) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    # A copy: CTranslate2 rounds weights in place, and these are those of a model that is still used.
    return tensor.detach().float().cpu().contiguous().numpy().copy()
