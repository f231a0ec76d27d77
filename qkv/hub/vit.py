"""Hugging Face's ViT for classification: its configuration and its names of weights, as ours."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from qkv.core.block import ACTIVATIONS, StackConfig
from qkv.errors import UserError
from qkv.models.vit import VitConfig

# Files that are published have the first of two names, the library of today writes the second.
BLOCK = r"vit\.(?:encoder\.layer|layers)\.(\d+)\."
NAMES = {
    r"vit\.embeddings\.cls_token": "class_token",
    r"vit\.embeddings\.position_embeddings": "positions.table",
    r"vit\.embeddings\.patch_embeddings\.projection\.": "patches.",
    BLOCK + r"attention\.(?:attention\.query|q_proj)\.": r"stack.blocks.\1.attention.sublayer.query.",
    BLOCK + r"attention\.(?:attention\.key|k_proj)\.": r"stack.blocks.\1.attention.sublayer.key.",
    BLOCK + r"attention\.(?:attention\.value|v_proj)\.": r"stack.blocks.\1.attention.sublayer.value.",
    BLOCK + r"attention\.(?:output\.dense|o_proj)\.": r"stack.blocks.\1.attention.sublayer.output.",
    BLOCK + r"(?:intermediate\.dense|mlp\.fc1)\.": r"stack.blocks.\1.feed_forward.sublayer.expand.",
    BLOCK + r"(?:output\.dense|mlp\.fc2)\.": r"stack.blocks.\1.feed_forward.sublayer.contract.",
    BLOCK + r"layernorm_before\.": r"stack.blocks.\1.attention.norm.",
    BLOCK + r"layernorm_after\.": r"stack.blocks.\1.feed_forward.norm.",
    r"vit\.layernorm\.": "stack.norm.",
    r"classifier\.": "head.",
}
ACTIVATION_NAMES = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}


def vit_config(theirs: Mapping[str, Any], classes: int) -> VitConfig:
    """From the content of their config.json."""
    activation: Any = ACTIVATION_NAMES.get(theirs["hidden_act"])
    if activation not in ACTIVATIONS:
        raise UserError(f"this ViT has the activation {theirs['hidden_act']}, which qkv does not know.")
    if not theirs.get("qkv_bias", True):
        raise UserError("this ViT has no biases in its attention, and those of qkv have.")
    return VitConfig(
        height=theirs["image_size"],
        width=theirs["image_size"],
        channels=theirs["num_channels"],
        patch=theirs["patch_size"],
        classes=classes,
        stack=StackConfig(
            depth=theirs["num_hidden_layers"],
            width=theirs["hidden_size"],
            heads=theirs["num_attention_heads"],
            hidden=theirs["intermediate_size"],
            norm="pre",
            activation=activation,
            dropout=theirs["hidden_dropout_prob"],
            attention_dropout=theirs["attention_probs_dropout_prob"],
            norm_eps=theirs["layer_norm_eps"],
        ),
    )


def vit_weights(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every weight under our name; one that has no place here is an error and not left out."""
    found, strange = {}, []
    for name, tensor in theirs.items():
        own = own_name(name)
        if own is None:
            strange.append(name)
        elif own == "patches.weight":
            found[own] = tensor.flatten(1)  # (D, C, size, size): a convolution that never overlaps is a linear map
        elif own == "class_token":
            found[own] = tensor.flatten()  # from (1, 1, D)
        elif own == "positions.table":
            found[own] = tensor[0]  # from (1, 1 + P, D)
        else:
            found[own] = tensor
    if strange:
        raise UserError(f"these weights have no place in a ViT for classification: {', '.join(strange)}.")
    return found


def own_name(name: str) -> str | None:
    for pattern, replacement in NAMES.items():
        if re.match(pattern, name):
            return re.sub(pattern, replacement, name, count=1)
    return None
