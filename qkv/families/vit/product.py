"""Classify images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor

from qkv.checkpoint.bundle import Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.images import Bytes, Form, read_picture
from qkv.errors import UserError
from qkv.families.vit.config import VitConfig
from qkv.families.vit.model import Vit
from qkv.families.vit.options import ClassificationOptions
from qkv.runtime.pixels import AT_ONCE, as_input
from qkv.runtime.predictions import Prediction
from qkv.runtime.weights import build_model


@dataclass(frozen=True, kw_only=True)
class ClassifierDefaults:
    """What an image classifier needs besides its weights."""

    classes: tuple[str, ...]
    colours: Literal["grey", "colour"]


class PictureClassifier:
    """`qkv.load("runs/digits").classify([("three.png",)])`"""

    reads: Literal["text", "pairs", "pictures"] = "pictures"

    def __init__(self, model: Vit, defaults: ClassifierDefaults, *, fit: bool = ClassificationOptions.fit):
        self.model, self.defaults, self.fit = model, defaults, fit
        self.classes = defaults.classes
        self.form = Form(model.config.height, model.config.width, defaults.colours)

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        config, where = dict(bundle.config), f"{bundle.folder}/config.json"
        architecture = from_dict(VitConfig, config.pop("model", None), where)
        defaults = from_dict(ClassifierDefaults, config, where)
        channels = Form(1, 1, defaults.colours).shape[0]
        if len(defaults.classes) != architecture.classes or channels != architecture.channels:
            raise UserError(
                f"{where}: the classes or colours do not match the model. Restore the file or train again."
            )
        model = build_model(Vit, architecture, bundle)
        return cls(model, defaults)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.model.config), **to_dict(self.defaults)}
        save_bundle(folder, "vit", config, self.model.state_dict())

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config = self.model.config
        return {
            "kind": f"image classifier (ViT), {len(self.classes)} classes",
            "parameters": f"{sum(p.numel() for p in self.model.parameters()):,}",
            "images": f"{self.form}, {config.patches} patches of {config.patch} × {config.patch}",
            "blocks": config.stack.sentence(),
            "classes": ", ".join(self.classes[:12]) + (", …" if len(self.classes) > 12 else ""),
        }

    def fitting(self) -> "PictureClassifier":
        """The same classifier, which resizes and converts images of another size or mode instead of rejecting them."""
        return PictureClassifier(self.model, self.defaults, fit=True)

    def classify(
        self, inputs: Sequence[tuple[str, ...]], *, done: Callable[[int], None] = lambda count: None
    ) -> list[Prediction]:
        """Predict the class of each image file."""
        predictions = []
        for start in range(0, len(inputs), AT_ONCE):
            names = [name for (name,) in inputs[start : start + AT_ONCE]]
            pixels = np.stack([read_picture(Path(name), self.form, fit=self.fit) for name in names])
            predictions += [Prediction.of(self.classes, row) for row in self.probabilities(pixels).tolist()]
            done(len(names))
        return predictions

    @torch.inference_mode()
    def probabilities(self, pixels: Bytes) -> Tensor:
        """Probabilities of all classes for images (N, C, height, width) in memory.  (N, classes)"""
        self.model.eval()
        device = self.model.head.weight.device
        parts = [
            self.model(as_input(torch.from_numpy(pixels[start : start + AT_ONCE])).to(device)).softmax(-1)
            for start in range(0, len(pixels), AT_ONCE)
        ]
        return torch.cat(parts).cpu()
