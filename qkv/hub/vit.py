"""Hugging Face's ViT for classification: its configuration and its names of weights, as ours."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from qkv.core.block import StackConfig
from qkv.hub.naming import check_known, placed
from qkv.models.vit import Vit, VitConfig

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
ACTIVATION_NAMES: dict[str, Any] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}


def vit_config(theirs: Mapping[str, Any], classes: int, where: str) -> VitConfig:
    """From the content of their config.json."""
    check_known(theirs, {"hidden_act": tuple(ACTIVATION_NAMES), "qkv_bias": (True,)}, where)
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
            activation=ACTIVATION_NAMES[theirs["hidden_act"]],
            dropout=theirs["hidden_dropout_prob"],
            attention_dropout=theirs["attention_probs_dropout_prob"],
            norm_eps=theirs["layer_norm_eps"],
        ),
    )


def vit_weights(theirs: Mapping[str, Tensor], model: Vit, where: str) -> dict[str, Tensor]:
    """Every weight under our name and in our shape."""
    return placed({name: reshaped(name, tensor) for name, tensor in theirs.items()}, own_name, model, where)


def reshaped(name: str, tensor: Tensor) -> Tensor:
    if name.endswith("projection.weight"):
        return tensor.flatten(1)  # (D, C, size, size): a convolution that never overlaps is a linear map
    if name.endswith("cls_token"):
        return tensor.flatten()  # (1, 1, D)
    if name.endswith("position_embeddings"):
        return tensor[0]  # (1, 1 + P, D)
    return tensor


def own_name(name: str) -> str:
    for pattern, replacement in NAMES.items():
        if re.match(pattern, name):
            return re.sub(pattern, replacement, name, count=1)
    return name
