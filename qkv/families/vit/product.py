"""Classify images."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Union, Unpack, overload

import numpy as np

from qkv.checkpoint.bundle import Bundle, save_bundle
from qkv.configs import from_dict, to_saved
from qkv.data.images import Bytes, Form, is_image, picture_from
from qkv.data.labelled_pictures import Labelled
from qkv.engine.reference.functions import softmax
from qkv.errors import ModelError
from qkv.families.vit.config import VitConfig
from qkv.families.vit.runner import VitRunner, build_vit, open_vit
from qkv.runtime.asynchronous import Work, in_thread
from qkv.runtime.inputs import Accepts, Column, Done
from qkv.runtime.model import Model
from qkv.runtime.network import Network, network_of
from qkv.runtime.pixels import AT_ONCE, Floats, as_input
from qkv.runtime.prediction_options import ClassificationOptions
from qkv.runtime.predictions import Prediction
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent
from qkv.signatures import replace_options, with_options

if TYPE_CHECKING:
    from PIL.Image import Image

    from qkv.keywords import ClassifyImagesKeywords

Picture = Union[str, Path, "Image", "np.ndarray"]
"""One image."""
DEFAULTS = ClassificationOptions()


@dataclass(frozen=True, kw_only=True)
class ClassifierDefaults:
    """What an image classifier needs besides its weights."""

    classes: tuple[str, ...]
    colours: Literal["grey", "colour"]


class ImageClassifier(Model):
    """An image classifier (Vision Transformer).

    Example:
        >>> classifier = qkv.load("runs/shapes")
        >>> classifier
        ImageClassifier(circle, square, line; 12 × 8 in grey)
        >>> classifier.classify("picture.png").label in classifier.classes
        True
    """

    _what = "an image classifier"
    _does = ("classify",)

    reads: Literal["images"] = "images"
    """What an input is."""

    def __init__(
        self,
        runner: VitRunner,
        defaults: ClassifierDefaults,
        *,
        network: Network[VitConfig, Any] | None = None,
    ):
        """Models are opened with `qkv.load`; this is for code that builds them.

        Args:
            runner: What computes the model: NumPy, or a torch model.
            defaults: Classes and colors.
            network: Config and weights of the model; not needed if the runner is a torch model.
        """
        self._runner, self._defaults = runner, defaults
        self._network = Network.of(runner) if network is None else network
        self._form = Form(runner.config.height, runner.config.width, defaults.colours)

    def _summary(self) -> str:
        return f"{names_of(self.classes)}; {self._form}"

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes.

        Example:
            >>> qkv.load("runs/shapes").classes
            ('circle', 'square', 'line')
        """
        return self._defaults.classes

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        config, where = dict(bundle.config), f"{bundle.folder}/config.json"
        architecture = from_dict(VitConfig, config.pop("model", None), where)
        defaults = from_dict(ClassifierDefaults, config, where)
        channels = Form(1, 1, defaults.colours).shape[0]
        if len(defaults.classes) != architecture.classes or channels != architecture.channels:
            raise ModelError(
                f"{where}: the classes or colors do not match the model. Restore the file or train again."
            )
        network = network_of(bundle, architecture, build_vit)
        return cls(open_vit(network, running), defaults, network=network)

    def to_bundle(self, folder: Path) -> None:
        config = {"model": to_saved(self.config), **to_saved(self._defaults)}
        save_bundle(folder, "vit", config, self._network.weights)

    def info(self) -> dict[str, str]:
        config = self.config
        return {
            "kind": f"image classifier (ViT), {len(self.classes)} classes",
            "parameters": f"{self._network.parameters:,}",
            "images": f"{self._form}, {config.patches} patches of {config.patch} × {config.patch}",
            "blocks": config.stack.sentence(),
            "classes": names_of(self.classes),
        }

    @overload  # an array is an image, although it could be a column of images
    def classify(  # type: ignore[overload-overlap]
        self,
        inputs: Picture,
        options: ClassificationOptions = ...,
        **keywords: "Unpack[ClassifyImagesKeywords]",
    ) -> Prediction: ...

    @overload
    def classify(
        self,
        inputs: Iterator[Any],
        options: ClassificationOptions = ...,
        **keywords: "Unpack[ClassifyImagesKeywords]",
    ) -> Iterator[Prediction]: ...

    @overload
    def classify(
        self,
        inputs: Column,
        options: ClassificationOptions = ...,
        **keywords: "Unpack[ClassifyImagesKeywords]",
    ) -> list[Prediction]: ...

    @with_options(ClassificationOptions)
    def classify(
        self,
        inputs: Any,
        options: ClassificationOptions = DEFAULTS,
        *,
        done: Done = silent,
        **keywords: Any,
    ) -> Any:
        """Predict the class of one image or many.

        Args:
            inputs: An image, a list of images or an iterator of images. An image is a path, a Pillow image, or an array
                (height, width) or (height, width, channels).
            options: Options as an object. Keywords replace its fields.
            done: Called with the number of images that were newly classified, for progress.

        Returns:
            A prediction for an image, a list for many, a lazy iterator for an iterator.

        Example:
            >>> classifier = qkv.load("runs/shapes")
            >>> image = PIL.Image.open("picture.png")
            >>> classifier.classify(image) == classifier.classify("picture.png")
            True
            >>> len(classifier.classify([image, "picture.png"]))
            2
        """
        chosen = replace_options(options, keywords)
        return IMAGES.apply(inputs, lambda part: self._classify(part, done, chosen))

    @overload  # an array is an image, although it could be a column of images
    def aclassify(  # type: ignore[overload-overlap]
        self,
        inputs: Picture,
        options: ClassificationOptions = ...,
        **keywords: "Unpack[ClassifyImagesKeywords]",
    ) -> Work[Prediction]: ...

    @overload
    def aclassify(
        self,
        inputs: Iterator[Any],
        options: ClassificationOptions = ...,
        **keywords: "Unpack[ClassifyImagesKeywords]",
    ) -> AsyncIterator[Prediction]: ...

    @overload
    def aclassify(
        self,
        inputs: Column,
        options: ClassificationOptions = ...,
        **keywords: "Unpack[ClassifyImagesKeywords]",
    ) -> Work[list[Prediction]]: ...

    @with_options(ClassificationOptions)
    def aclassify(
        self,
        inputs: Any,
        options: ClassificationOptions = DEFAULTS,
        *,
        done: Done | None = None,
        **keywords: Any,
    ) -> Any:
        """Like `classify`, for asyncio: other tasks run while it works.

        Args:
            inputs: An image, a list of images or an iterator of images.
            options: Options as an object. Keywords replace its fields.
            done: Called with the number of images that were newly classified, in another thread.

        Returns:
            What `classify` returns, to be awaited. For an iterator, an asynchronous iterator.

        Example:
            >>> classifier = qkv.load("runs/shapes")
            >>> asyncio.run(classifier.aclassify("picture.png")) == classifier.classify("picture.png")
            True
        """
        return in_thread(self.classify, inputs, options, done=done, **keywords)

    def _classify(
        self, images: Sequence[Any], done: Done = silent, options: ClassificationOptions = DEFAULTS
    ) -> list[Prediction]:
        found: list[Prediction] = []
        for start in range(0, len(images), AT_ONCE):
            pixels = np.stack(
                [
                    picture_from(image, self._form, fit=options.fit, name=f"images[{number}]")
                    for number, image in enumerate(images[start : start + AT_ONCE], start)
                ]
            )
            probabilities = self._probabilities(pixels).tolist()
            found += [Prediction.of(self.classes, row)._best(options.top_k) for row in probabilities]
            done(len(pixels))
        return found

    def _probabilities(self, pixels: Bytes) -> Floats:
        """Probabilities of all classes for images (N, C, height, width) in memory.  (N, classes)"""
        parts = [
            softmax(self._runner.logits(as_input(pixels[start : start + AT_ONCE])))
            for start in range(0, len(pixels), AT_ONCE)
        ]
        return np.concatenate(parts)

    def _accuracy(self, images: Labelled) -> float:
        """The share of images whose likeliest class is their own."""
        return float((self._probabilities(images.pictures).argmax(-1) == images.labels).mean())


def names_of(classes: Sequence[str]) -> str:
    return ", ".join(classes[:12]) + (", …" if len(classes) > 12 else "")


def image_or_none(value: Any) -> Any:
    """An image. The command line gives paths in tuples of one."""
    alone = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    return alone if is_image(alone) else None


IMAGES: Accepts[Any] = Accepts(
    method="classify",
    argument="images",
    what="an image, a list of images or an iterator of images",
    item="a path, a Pillow image or an array",
    is_one=is_image,
    kind="image",
    read=image_or_none,
    at_once=AT_ONCE,
)
