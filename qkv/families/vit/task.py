"""Trains an image classifier on labeled images."""

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from qkv.checkpoint.bundle import save_report
from qkv.data.augmentation import Augmentation
from qkv.data.images import hash_of
from qkv.data.labelled_pictures import Labelled, hold_out
from qkv.errors import QkvError
from qkv.families.vit.config import VitConfig
from qkv.families.vit.model import PictureBatch, Vit
from qkv.families.vit.product import ClassifierDefaults, ImageClassifier
from qkv.families.vit.settings import LabelledImageSettings, VitSettings
from qkv.runtime.pixels import as_input
from qkv.training.augment import augment
from qkv.training.blocks import stack_of
from qkv.training.card import Purpose, model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.position import Position
from qkv.training.report import facts_of_run
from qkv.training.rows import Rows
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, Example, Task
from qkv.training.trainable import Setup
from qkv.training.watch import ForwardingWatch, Watch

PURPOSE = Purpose(
    task="image-classification",
    command="qkv classify . image.png",
    python='model.classify("image.png").label',
    use="The model chooses among the classes it was trained on, also for images that show none of them.",
)

CURVE_FILE = "accuracy.jsonl"  # in OUT/training


@dataclass(frozen=True, kw_only=True)
class LabelledData:
    """Labeled images to train, validate and test on."""

    train: Labelled
    valid: Labelled
    test: Labelled | None
    origin: str
    accuracies: list[float] = field(default_factory=list)  # at the validations so far

    @classmethod
    def of(
        cls, train: Labelled, valid: Labelled | None, test: Labelled | None, origin: str, valid_size: str
    ) -> "LabelledData":
        """If there is no validation part, hold out some training images, the same in every run."""
        if valid is None:
            kept, out = hold_out(len(train), valid_size, seed=1)
            train, valid = train.take(kept), train.take(out)
        return cls(train=train, valid=valid, test=test, origin=origin)

    @property
    def amount(self) -> int:
        return len(self.train)

    def with_class_order(self, classes: tuple[str, ...]) -> "LabelledData":
        test = None if self.test is None else self.test.with_class_order(classes)
        return replace(
            self,
            train=self.train.with_class_order(classes),
            valid=self.valid.with_class_order(classes),
            test=test,
        )


def vit_task(data: LabelledData, inputs: Any, settings: VitSettings, setup: Setup) -> "VitTask":
    describe(data, setup)
    settings = with_precision(settings, settings.model.width, choose_device(settings.training), setup.group)
    return VitTask(data, settings, architecture(settings, data.train))


def describe(images: LabelledData, setup: Setup) -> None:
    test = "" if images.test is None else f", {len(images.test):,} to test on"
    setup.say(f"{images.origin}: {len(images.train.classes)} classes, images of {images.train.form}")
    setup.say(f"{len(images.train):,} to train on, {len(images.valid):,} to validate on{test}")


@dataclass(frozen=True)
class VitTask(Task[ImageClassifier]):
    images: LabelledData
    settings: LabelledImageSettings
    config: VitConfig

    @property
    def width(self) -> int:
        return self.config.stack.width

    def wrap_watch(self, watch: Watch, product: ImageClassifier, out: Path) -> Watch:
        return AccuracyWatch(watch, product, self.images, out / "training" / CURVE_FILE)

    def example(self) -> Example[ImageClassifier]:
        title = "Accuracy on the validation images:"
        return Example(title, lambda product: f"{100 * self.images.accuracies[-1]:.2f} %")

    def fingerprint(self) -> dict[str, str]:
        train, valid, test = self.images.train, self.images.valid, self.images.test
        return {
            "training pictures": hash_of(train.pictures, train.labels, words=train.classes),
            "validation pictures": hash_of(valid.pictures, valid.labels),
            "test pictures": "none" if test is None else hash_of(test.pictures, test.labels),
        }

    def data(self, pictures: Labelled, *, shuffled: bool) -> Rows:
        """Batches of images. Training images are shuffled and augmented."""
        tokens = 1 + self.config.patches
        batch_size = self.settings.training.batch_tokens // tokens
        shown = ImageBatches(pictures, self.settings.augment if shuffled else None)
        return Rows(len(pictures), batch_size, tokens, shown, shuffled=shuffled)

    def assemble(self, folder: Path) -> Assembled[ImageClassifier]:
        images = self.images
        defaults = ClassifierDefaults(classes=images.train.classes, colours=images.train.form.colours)
        return Assembled(
            product=ImageClassifier(Vit(self.config), defaults),
            train=self.data(images.train, shuffled=True),
            valid=self.data(images.valid, shuffled=False),
        )

    def finish(self, product: ImageClassifier, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        report = self.report(product, run, chosen, out)
        save_report(out, report, model_card("Image classifier", PURPOSE, report))
        return report

    def report(self, product: ImageClassifier, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        images = self.images
        results = {"validation accuracy": percent(product._accuracy(images.valid), len(images.valid))}
        if images.test is not None:
            results["test accuracy"] = percent(product._accuracy(images.test), len(images.test))
        return {
            **facts_of_run(run, product.model, chosen, self.settings),
            "kind": "vit",
            "data": {
                "origin": images.origin,
                "images": len(images.train),
                "validation_images": len(images.valid),
                "classes": list(images.train.classes),
            },
            "results": results,
            "curve": curve(out / "training" / CURVE_FILE),
        }


def architecture(settings: VitSettings, pictures: Labelled) -> VitConfig:
    form = pictures.form
    try:
        return VitConfig(
            height=form.height,
            width=form.width,
            channels=form.shape[0],
            patch=settings.model.patch,
            classes=len(pictures.classes),
            stack=stack_of(settings.model),
            label_smoothing=settings.model.label_smoothing,
        )
    except ValueError as error:
        raise QkvError(
            f"this model cannot be built: {error}. Change the patch size or the image size."
        ) from None


class ImageBatches:
    """Makes batches of images. The augmentation of an image depends only on the seed of the epoch and its row."""

    def __init__(self, pictures: Labelled, options: Augmentation | None):
        self.pixels, self.labels = torch.from_numpy(pictures.pictures), torch.from_numpy(pictures.labels)
        self.options = options
        self.drawn: tuple[int, torch.Tensor] | None = None  # seed of the epoch, and its random numbers

    def __call__(self, rows: list[int], seed: int) -> PictureBatch:
        if self.options is None:
            return PictureBatch(torch.from_numpy(as_input(self.pixels[rows].numpy())), self.labels[rows])
        if self.drawn is None or self.drawn[0] != seed:
            numbers = torch.Generator().manual_seed(seed ^ 1)  # independent of the order of rows
            self.drawn = seed, torch.rand(len(self.pixels), self.options.draws, generator=numbers)
        images = augment(self.pixels[rows], self.drawn[1][rows], self.options)
        return PictureBatch(2 * images - 1, self.labels[rows])


def percent(share: float, count: int) -> str:
    return f"{100 * share:.2f} % of {count:,} images"


class AccuracyWatch(ForwardingWatch):
    """A watch that also logs the accuracy and the elapsed minutes at every validation."""

    def __init__(self, inner: Watch, product: ImageClassifier, images: LabelledData, path: Path):
        super().__init__(inner)
        self.product, self.images, self.path = product, images, path

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        share = self.product._accuracy(self.images.valid)
        self.images.accuracies.append(share)
        minutes = round(position.seconds / 60, 2)
        line = {"step": position.step, "minutes": minutes, "accuracy": round(share, 5)}
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.inner.on_validation(position, loss, improved)


def curve(path: Path) -> list[dict[str, float]]:
    """The newest line for each step, because a resumed run may repeat steps."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return sorted({line["step"]: line for line in lines}.values(), key=lambda line: line["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return []  # a full disk or an incomplete line: the curve is optional
