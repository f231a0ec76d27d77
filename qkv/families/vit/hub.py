"""Convert ViT classifiers between Hugging Face's config and weight names and ours."""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from qkv.checkpoint.files import json_bytes
from qkv.errors import DataError
from qkv.families.vit.config import VitConfig
from qkv.families.vit.model import Vit
from qkv.families.vit.product import ClassifierDefaults, ImageClassifier
from qkv.hub.folder import Published
from qkv.hub.mapping import NotExportableError, Written
from qkv.hub.naming import Settings, build_model, classes, outputs_of, rename_weights
from qkv.hub.stack import stack_from, their_stack

# Published files have the first of two names; the library now writes the second.
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
COLOURS: dict[int, Literal["grey", "colour"]] = {1: "grey", 3: "colour"}
WITHOUT_EFFECT = {"encoder_stride", "pooler_act", "pooler_output_size"}
OUT = {
    "attention.sublayer.query": "attention.attention.query",
    "attention.sublayer.key": "attention.attention.key",
    "attention.sublayer.value": "attention.attention.value",
    "attention.sublayer.output": "attention.output.dense",
    "feed_forward.sublayer.expand": "intermediate.dense",
    "feed_forward.sublayer.contract": "output.dense",
    "attention.norm": "layernorm_before",
    "feed_forward.norm": "layernorm_after",
}


class VitMapping:
    def read(self, published: Published, language: str | None) -> ImageClassifier:
        weights, where = published.weights, published.where
        config = vit_config(published.config, outputs_of(weights, where), where)
        check_pictures(published, config.height)
        if config.channels not in COLOURS:
            raise DataError(
                f"{where}: its images have {config.channels} channels; qkv supports 1 (grey) and 3 (color)."
            )
        ours = rename_weights({name: reshape(name, each) for name, each in weights.items()}, own_name, where)
        model = build_model(lambda: Vit(config), ours, config.stack.depth, where)
        names = classes(published.config, config.classes, where)
        return ImageClassifier(model, ClassifierDefaults(classes=names, colours=COLOURS[config.channels]))

    def write(self, product: ImageClassifier) -> Written:
        config, stack = product.model.config, product.model.config.stack
        if config.height != config.width:
            raise NotExportableError(
                "transformers' ViT reads square images only: this model cannot be exported."
            )
        if stack.norm != "pre":
            raise NotExportableError("transformers' ViT has no post-norm: this model cannot be exported.")
        weights = {
            their_name(name): their_shape(name, each, config)
            for name, each in product.model.state_dict().items()
        }
        side = {"height": config.height, "width": config.width}
        halves = [0.5] * config.channels
        seen = {
            "image_processor_type": "ViTImageProcessor", "do_resize": True, "size": side, "do_rescale": True,
            "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": halves, "image_std": halves, "resample": 2,
        }  # fmt: skip
        return Written(
            config={
                "model_type": "vit",
                "architectures": [self.their_class(product)],
                "image_size": config.height,
                "num_channels": config.channels,
                "patch_size": config.patch,
                **their_stack(stack),
                "qkv_bias": True,
                "id2label": dict(enumerate(product.classes)),
                "label2id": {label: number for number, label in enumerate(product.classes)},
            },
            weights=weights,
            files={"preprocessor_config.json": json_bytes(seen)},
        )

    def encode(self, product: ImageClassifier, line: str) -> None:
        """Images only: no text."""

    def their_class(self, product: ImageClassifier) -> str:
        return "ViTForImageClassification"

    def probe(self, product: ImageClassifier) -> dict[str, Tensor]:
        config, chance = product.model.config, torch.Generator().manual_seed(1)
        size = (2, config.channels, config.height, config.width)
        return {"pixel_values": torch.rand(size, generator=chance) * 2 - 1}

    def compute(self, product: ImageClassifier, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {"logits": product.model.eval()(inputs["pixel_values"])}


def vit_config(theirs: Mapping[str, Any], classes: int, where: str) -> VitConfig:
    """From the content of their config.json."""
    known = Settings(theirs, WITHOUT_EFFECT, where)
    known.must_be("qkv_bias", True, True)
    side = known.size("image_size", 224)
    try:
        config = VitConfig(
            height=side,
            width=side,
            channels=known.size("num_channels", 3),
            patch=known.size("patch_size", 16),
            classes=classes,
            stack=stack_from(known, "pre", 0.0),
        )
    except ValueError as error:
        raise DataError(f"{where}: this model cannot be built: {error}.") from None
    known.refuse_others()
    return config


def check_pictures(published: Published, side: int) -> None:
    """Check the preprocessing: for qkv black is −1 and white is 1, and a model trained otherwise would be wrong."""
    seen, where = published.json("preprocessor_config.json"), published.where
    for name in ("image_mean", "image_std"):
        values = seen.get(name, 0.5)
        if any(value != 0.5 for value in (values if isinstance(values, list) else [values])):
            raise DataError(f"{where}: {name} is {values}; qkv supports only 0.5.")
    for name, wanted in (("do_rescale", True), ("do_normalize", True), ("do_center_crop", False)):
        if seen.get(name, wanted) not in (wanted, None):
            raise DataError(f"{where}: {name} is {seen[name]!r}; qkv supports only {wanted!r}.")
    factor = seen.get("rescale_factor", 1 / 255)
    if not isinstance(factor, int | float) or not math.isclose(factor, 1 / 255, rel_tol=1e-5):
        raise DataError(f"{where}: rescale_factor is {factor!r}; qkv supports only 1/255.")
    size = seen.get("size", side)
    sides = list(size.values()) if isinstance(size, dict) else [size]
    if seen.get("do_resize", True) and any(each != side for each in sides):
        raise DataError(f"{where}: images are resized to {size}, but the model reads {side} × {side}.")


def reshape(name: str, tensor: Tensor) -> Tensor:
    """Their tensor in our shape. An unexpected rank is left unchanged and reported later."""
    if name.endswith("projection.weight") and tensor.ndim == 4:
        return tensor.flatten(1)  # (D, C, size, size): a convolution without overlap is a linear map
    if name.endswith("cls_token") and tensor.ndim == 3:
        return tensor.flatten()  # (1, 1, D)
    if name.endswith("position_embeddings") and tensor.ndim == 3 and len(tensor) == 1:
        return tensor[0]  # (1, 1 + P, D)
    return tensor


def own_name(name: str) -> str:
    for pattern, replacement in NAMES.items():
        if re.match(pattern, name):
            return re.sub(pattern, replacement, name, count=1)
    return name


def their_name(ours: str) -> str:
    block = re.fullmatch(r"stack\.blocks\.(\d+)\.(.+)\.(weight|bias)", ours)
    if block is not None:
        return f"vit.encoder.layer.{block[1]}.{OUT[block[2]]}.{block[3]}"
    names = {
        "class_token": "vit.embeddings.cls_token",
        "positions.table": "vit.embeddings.position_embeddings",
        "patches.weight": "vit.embeddings.patch_embeddings.projection.weight",
        "patches.bias": "vit.embeddings.patch_embeddings.projection.bias",
        "stack.norm.weight": "vit.layernorm.weight",
        "stack.norm.bias": "vit.layernorm.bias",
        "head.weight": "classifier.weight",
        "head.bias": "classifier.bias",
    }
    return names[ours]


def their_shape(name: str, tensor: Tensor, config: VitConfig) -> Tensor:
    match name:
        case "patches.weight":
            return tensor.unflatten(1, (config.channels, config.patch, config.patch))
        case "class_token":
            return tensor[None, None]
        case "positions.table":
            return tensor[None]
    return tensor
