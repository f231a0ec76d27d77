"""Classify images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from qkv.checkpoint.bundle import Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.images import Bytes, Form, read_picture
from qkv.data.labelled_pictures import Labelled
from qkv.engine.reference.functions import softmax
from qkv.errors import QkvError
from qkv.families.vit.config import VitConfig
from qkv.families.vit.runner import VitRunner, build_vit, open_vit
from qkv.runtime.classification import ClassificationOptions
from qkv.runtime.network import Network, network_of
from qkv.runtime.pixels import AT_ONCE, Floats, as_input
from qkv.runtime.predictions import Prediction
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent


@dataclass(frozen=True, kw_only=True)
class ClassifierDefaults:
    """What an image classifier needs besides its weights."""

    classes: tuple[str, ...]
    colours: Literal["grey", "colour"]


class ImageClassifier:
    """`qkv.load("runs/digits").classify([("three.png",)])`"""

    reads: Literal["text", "pairs", "pictures"] = "pictures"

    def __init__(
        self,
        runner: VitRunner,
        defaults: ClassifierDefaults,
        *,
        network: Network[VitConfig, Any] | None = None,
        fit: bool = ClassificationOptions.fit,
    ):
        """`network` has the config and weights; it is not needed if the runner is a torch model."""
        self.runner, self.defaults, self.fit = runner, defaults, fit
        self.network = Network.of(runner) if network is None else network
        self.classes = defaults.classes
        self.form = Form(runner.config.height, runner.config.width, defaults.colours)

    @property
    def config(self) -> VitConfig:
        return self.network.config

    @property
    def model(self) -> Any:
        """The same model in torch, for training, tracing and exporting."""
        return self.network.model

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), f"{bundle.folder}/config.json"
        architecture = from_dict(VitConfig, config.pop("model", None), where)
        defaults = from_dict(ClassifierDefaults, config, where)
        channels = Form(1, 1, defaults.colours).shape[0]
        if len(defaults.classes) != architecture.classes or channels != architecture.channels:
            raise QkvError(
                f"{where}: the classes or colours do not match the model. Restore the file or train again."
            )
        network = network_of(bundle, architecture, build_vit)
        return cls(open_vit(network, running), defaults, network=network)

    def save(self, folder: Path) -> None:
        config = {"model": to_dict(self.config), **to_dict(self.defaults)}
        save_bundle(folder, "vit", config, self.network.weights)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config = self.config
        return {
            "kind": f"image classifier (ViT), {len(self.classes)} classes",
            "parameters": f"{self.network.parameters:,}",
            "images": f"{self.form}, {config.patches} patches of {config.patch} × {config.patch}",
            "blocks": config.stack.sentence(),
            "classes": ", ".join(self.classes[:12]) + (", …" if len(self.classes) > 12 else ""),
        }

    def fitting(self) -> "ImageClassifier":
        """The same classifier, which resizes and converts images of another size or mode instead of rejecting them."""
        return ImageClassifier(self.runner, self.defaults, network=self.network, fit=True)

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

    def probabilities(self, pixels: Bytes) -> Floats:
        """Probabilities of all classes for images (N, C, height, width) in memory.  (N, classes)"""
        parts = [
            softmax(self.runner.logits(as_input(pixels[start : start + AT_ONCE])))
            for start in range(0, len(pixels), AT_ONCE)
        ]
        return np.concatenate(parts)

    def accuracy(self, images: Labelled) -> float:
        """The share of images whose likeliest class is their own."""
        return float((self.probabilities(images.pictures).argmax(-1) == images.labels).mean())
