"""What all families share when they are exported to CTranslate2 (https://github.com/OpenNMT/CTranslate2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from qkv.core.block import Block, Stack
from qkv.core.positions import RotaryPositions
from qkv.core.stack_config import StackConfig
from qkv.errors import MissingExtraError
from qkv.hub.proof import tolerance_for

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "swish": "SWISH"}
Numbers = Literal["float32", "int8"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Our outputs and those of CTranslate2."""

    difference: float
    allowed: float
    same: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """How one kind of bundle is exported to CTranslate2 and compared with ours."""

    opened_as: Literal["Translator", "Generator", "Encoder"]
    """The class of ctranslate2 that opens the folder."""
    save: Callable[[Any, Path, Numbers], None]
    """Writes a product into a folder."""
    compare: Callable[[Any, Any], Comparison]
    """Outputs of a product and of the opened class, for the same inputs."""
    translate: Callable[[Any, Any, Sequence[str]], tuple[list[str], list[str]]] | None = None
    """Greedy translations of the same lines by both, if the model translates."""


def specs() -> tuple[Any, Any]:
    try:
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError:
        raise MissingExtraError("this export", package="CTranslate2", extra="ctranslate2") from None
    return common_spec, transformer_spec


def write(spec: Any, folder: Path, numbers: Numbers) -> None:
    spec.validate()
    spec.optimize(quantization=None if numbers == "float32" else numbers)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


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


def fill_stack(side: Any, stack: Stack, positions: Any) -> None:
    if hasattr(side, "position_encodings"):  # its encoder always has this attribute
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
    # A copy: CTranslate2 rounds weights in place, and the model is still in use.
    return tensor.detach().float().cpu().contiguous().numpy().copy()


def view_as_array(view: Any) -> Any:
    """A view of CTranslate2's memory as an array."""
    return np.array(view)


def compare_outputs(ours: Tensor, theirs: Tensor, same: int, total: int) -> Comparison:
    difference = float((ours - theirs).abs().max())
    return Comparison(difference=difference, allowed=tolerance_for(ours), same=same, total=total)
