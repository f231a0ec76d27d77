"""How a picture classifier is trained: pictures with classes in, a bundle with its report out."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from qkv.checkpoint.bundle import save_report
from qkv.data.augment import augment
from qkv.data.augmentation import Augmentation
from qkv.data.labelled_pictures import Labelled
from qkv.errors import UserError
from qkv.families.vit.model import PictureBatch, Vit, VitConfig
from qkv.families.vit.product import ClassifierDefaults, PictureClassifier
from qkv.families.vit.settings import LabelledImageSettings, VitSettings
from qkv.runtime.pixels import as_input
from qkv.training.blocks import stack_of
from qkv.training.card import model_card
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Position, Run, Watch
from qkv.training.picture_data import Rows, hash_of, split
from qkv.training.runs import Assembled, Chosen, Example, Task, facts_of_run
from qkv.training.settings import number_of
from qkv.training.trainable import Setup

CURVE_FILE = "accuracy.jsonl"  # in OUT/training


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Pictures with classes in the parts that a run needs."""

    train: Labelled
    valid: Labelled
    test: Labelled | None
    origin: str
    accuracies: list[float] = field(default_factory=list)  # at the validations so far, for whoever looks on

    @classmethod
    def of(
        cls, train: Labelled, valid: Labelled | None, test: Labelled | None, origin: str, valid_size: str
    ) -> "Gallery":
        """Where there is no validation part, some of the training part is held out: the same in every run."""
        if valid is None:
            train, valid = split(train, number_of(valid_size, len(train)), seed=1)
        return cls(train=train, valid=valid, test=test, origin=origin)

    @property
    def amount(self) -> int:
        return len(self.train)

    def with_class_order(self, classes: tuple[str, ...]) -> "Gallery":
        test = None if self.test is None else self.test.with_class_order(classes)
        return replace(
            self,
            train=self.train.with_class_order(classes),
            valid=self.valid.with_class_order(classes),
            test=test,
        )


def vit_task(data: Gallery, inputs: Any, settings: VitSettings, setup: Setup) -> "VitTask":
    describe(data, setup)
    settings = with_precision(settings, settings.model.width, choose_device(), setup.group)
    return VitTask(data, settings, architecture(settings, data.train))


def describe(gallery: Gallery, setup: Setup) -> None:
    test = "" if gallery.test is None else f", {len(gallery.test):,} to test on"
    setup.say(f"{gallery.origin}: {len(gallery.train.classes)} classes, pictures of {gallery.train.form}")
    setup.say(f"{len(gallery.train):,} to train on, {len(gallery.valid):,} to validate on{test}")


@dataclass(frozen=True)
class VitTask(Task[PictureClassifier]):
    gallery: Gallery
    settings: LabelledImageSettings
    config: VitConfig

    @property
    def width(self) -> int:
        return self.config.stack.width

    def watched(self, watch: Watch, product: PictureClassifier, out: Path) -> Watch:
        return Accuracies(watch, product, self.gallery, out / "training" / CURVE_FILE)

    def example(self) -> Example[PictureClassifier]:
        title = "Accuracy on the validation pictures at every validation:"
        return Example(title, lambda product: f"{100 * self.gallery.accuracies[-1]:.2f} %")

    def fingerprint(self) -> dict[str, str]:
        train, valid, test = self.gallery.train, self.gallery.valid, self.gallery.test
        return {
            "training pictures": hash_of(train.pictures, train.labels, words=train.classes),
            "validation pictures": hash_of(valid.pictures, valid.labels),
            "test pictures": "none" if test is None else hash_of(test.pictures, test.labels),
        }

    def data(self, pictures: Labelled, *, shuffled: bool) -> Rows:
        """Those to learn from are shuffled, and shown differently each time."""
        pieces = 1 + self.config.patches
        at_once = self.settings.training.batch_tokens // pieces
        shown = Augmented(pictures, self.settings.augment if shuffled else None)
        return Rows(len(pictures), at_once, pieces, shown, shuffled=shuffled)

    def assemble(self, folder: Path) -> Assembled[PictureClassifier]:
        gallery = self.gallery
        defaults = ClassifierDefaults(classes=gallery.train.classes, colours=gallery.train.form.colours)
        return Assembled(
            product=PictureClassifier(Vit(self.config), defaults),
            train=self.data(gallery.train, shuffled=True),
            valid=self.data(gallery.valid, shuffled=False),
        )

    def finish(self, product: PictureClassifier, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        report = self.report(product, run, chosen, out)
        save_report(out, report, model_card("Picture classifier", "qkv classify . picture.png", report))
        return report

    def report(self, product: PictureClassifier, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        gallery = self.gallery
        results = {"validation accuracy": percent(accuracy(product, gallery.valid), len(gallery.valid))}
        if gallery.test is not None:
            results["test accuracy"] = percent(accuracy(product, gallery.test), len(gallery.test))
        return {
            **facts_of_run(run, product.model, chosen, self.settings),
            "kind": "vit",
            "data": {
                "origin": gallery.origin,
                "pictures": len(gallery.train),
                "validation_pictures": len(gallery.valid),
                "classes": list(gallery.train.classes),
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
        raise UserError(
            f"such a model cannot be built: {error}. Change the patch or the size of the pictures."
        ) from None


class Augmented:
    """Rows of pictures to batches; each picture has its own numbers for every epoch, whoever computes it."""

    def __init__(self, pictures: Labelled, options: Augmentation | None):
        self.pixels, self.labels = torch.from_numpy(pictures.pictures), torch.from_numpy(pictures.labels)
        self.options = options
        self.drawn: tuple[int, torch.Tensor] | None = None  # of which epoch

    def __call__(self, rows: list[int], seed: int) -> PictureBatch:
        if self.options is None:
            return PictureBatch(as_input(self.pixels[rows]), self.labels[rows])
        if self.drawn is None or self.drawn[0] != seed:
            numbers = torch.Generator().manual_seed(seed ^ 1)  # not those of the order
            self.drawn = seed, torch.rand(len(self.pixels), self.options.draws, generator=numbers)
        changed = augment(self.pixels[rows], self.drawn[1][rows], self.options)
        return PictureBatch(2 * changed - 1, self.labels[rows])


def accuracy(classifier: PictureClassifier, pictures: Labelled) -> float:
    said = classifier.probabilities(pictures.pictures).argmax(-1)
    return float((said == torch.from_numpy(pictures.labels)).double().mean())


def percent(share: float, count: int) -> str:
    return f"{100 * share:.2f} % of {count:,} pictures"


class Accuracies:
    """A watch that also notes the accuracy at every validation, with the minutes it took to get there."""

    def __init__(self, inner: Watch, product: PictureClassifier, gallery: Gallery, path: Path):
        self.inner, self.product, self.gallery, self.path = inner, product, gallery, path

    def step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None:
        self.inner.step(position, progress, loss, tokens_per_second)

    def validated(self, position: Position, loss: float, improved: bool) -> None:
        share = accuracy(self.product, self.gallery.valid)
        self.gallery.accuracies.append(share)
        minutes = round(position.seconds / 60, 2)
        line = {"step": position.step, "minutes": minutes, "accuracy": round(share, 5)}
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.inner.validated(position, loss, improved)

    def warn(self, sentence: str) -> None:
        self.inner.warn(sentence)

    def logged(self, facts: Mapping[str, Any]) -> None:
        self.inner.logged(facts)

    def working(self, what: str, completed: int, total: int) -> None:
        self.inner.working(what, completed, total)


def curve(path: Path) -> list[dict[str, float]]:
    """One line for each step, the newest: a resumed run may have been there before."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return sorted({line["step"]: line for line in lines}.values(), key=lambda line: line["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return []  # a full disk, or a line cut off: the model is as good as it is
