"""Fine-tunes an image classifier on other images."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE, description_hashes
from qkv.checkpoint.files import file_hash
from qkv.errors import QkvError
from qkv.families.loading import load_for
from qkv.families.vit.config import VitConfig
from qkv.families.vit.product import ImageClassifier
from qkv.families.vit.settings import FineTuneVitSettings
from qkv.families.vit.task import LabelledData, VitTask, describe, percent
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.selection import ChosenWeights
from qkv.training.task import Assembled, with_epochs
from qkv.training.trainable import Setup

HEAD = "head."  # prefix of its weights


def fine_tune_task(
    data: LabelledData, inputs: Any, settings: FineTuneVitSettings, setup: Setup
) -> "FineTuneVitTask":
    """Fine-tune the classifier `inputs.fine_tune`."""
    settings.check()
    images, base = data, inputs.fine_tune
    describe(images, setup)
    before = classifier_in(base)
    if images.train.form != before._form:
        raise QkvError(
            f"the images are {images.train.form}, but {base} needs {before._form}: fit them to the model."
        )
    if same_classes(images, before):
        images = images.with_class_order(before.classes)
    settings = with_precision(
        settings, before.model.config.stack.width, choose_device(settings.training), setup.group
    )
    task = FineTuneVitTask(images, settings, tuned_config(before, images, settings), before, base)
    return replace(task, settings=with_epochs(settings, lambda: task.data(images.train, shuffled=True)))


def classifier_in(base: Path) -> ImageClassifier:
    return load_for(base, "train vit --fine-tune", ImageClassifier)


def same_classes(images: LabelledData, before: ImageClassifier) -> bool:
    """Whether the classes are the same, in any order, so that the head can be kept."""
    return sorted(images.train.classes) == sorted(before.classes)


def tuned_config(before: ImageClassifier, images: LabelledData, settings: FineTuneVitSettings) -> VitConfig:
    """The config with new classes, and with the dropout and label smoothing of this run."""
    config = replace(before.model.config, classes=len(images.train.classes))
    if settings.label_smoothing is not None:
        config = replace(config, label_smoothing=settings.label_smoothing)
    if settings.dropout is not None:
        config = replace(config, stack=replace(config.stack, dropout=settings.dropout))
    return config


@dataclass(frozen=True)
class FineTuneVitTask(VitTask):
    before: ImageClassifier
    base: Path

    def fingerprint(self) -> dict[str, str]:
        weights = {"weights to begin with": file_hash(self.base / MODEL_FILE)}
        return {**super().fingerprint(), **weights, **description_hashes(self.base)}

    def assemble(self, folder: Path) -> Assembled[ImageClassifier]:
        """Load the weights. The head is new if the classes are different."""
        made = super().assemble(folder)
        weights = self.before.model.state_dict()
        if not same_classes(self.images, self.before):
            new = made.product.model.state_dict()
            weights = {name: (new if name.startswith(HEAD) else weights)[name] for name in weights}
        made.product.model.load_state_dict(weights)
        return made

    def report(self, product: ImageClassifier, run: Run, chosen: ChosenWeights, out: Path) -> dict[str, Any]:
        report = super().report(product, run, chosen, out)
        report["data"]["origin"] += f", on top of {self.base.name}"
        report["fine_tuned"] = {"from": self.base.name, "head": "new"}
        if same_classes(self.images, self.before):
            share, valid = self.before._accuracy(self.images.valid), self.images.valid
            report["fine_tuned"] |= {"head": "kept", "validation_accuracy_before": round(share, 5)}
            report["results"] = {
                "validation accuracy before": percent(share, len(valid)),
                **report["results"],
            }
        return report
