"""How a picture classifier that was trained or imported before learns from other pictures: its body goes on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qkv.checkpoint.bundle import MODEL_FILE, description_hashes
from qkv.checkpoint.files import file_hash
from qkv.errors import UserError
from qkv.families.loading import load_for
from qkv.families.vit.model import VitConfig
from qkv.families.vit.product import PictureClassifier
from qkv.families.vit.settings import FineTuneVitSettings
from qkv.families.vit.task import Gallery, VitTask, accuracy, describe, percent
from qkv.training.device import choose_device, with_precision
from qkv.training.loop import Run
from qkv.training.runs import Assembled, Chosen, with_epochs
from qkv.training.trainable import Setup

HEAD = "head."  # how the names of its weights begin


def fine_tune_task(
    data: Gallery, inputs: Any, settings: FineTuneVitSettings, setup: Setup
) -> "FineTuneVitTask":
    """Fine-tune the classifier `inputs.fine_tune` on other pictures."""
    settings.check()
    gallery, base = data, inputs.fine_tune
    describe(gallery, setup)
    before = classifier_in(base)
    if gallery.train.form != before.form:
        raise UserError(
            f"the pictures are {gallery.train.form}, and those of {base} {before.form}: make them fit."
        )
    if same_classes(gallery, before):
        gallery = gallery.with_class_order(before.classes)
    settings = with_precision(settings, before.model.config.stack.width, choose_device(), setup.group)
    task = FineTuneVitTask(gallery, settings, tuned_config(before, gallery, settings), before, base)
    return replace(task, settings=with_epochs(settings, lambda: task.data(gallery.train, shuffled=True)))


def classifier_in(base: Path) -> PictureClassifier:
    return load_for(base, "train vit --fine-tune", PictureClassifier)


def same_classes(gallery: Gallery, before: PictureClassifier) -> bool:
    """In whatever order: then the head goes on as well. A published model may have two of one name: those are others."""
    return sorted(gallery.train.classes) == sorted(before.classes)


def tuned_config(before: PictureClassifier, gallery: Gallery, settings: FineTuneVitSettings) -> VitConfig:
    """The same model but for its classes; what acts in training alone may be another."""
    config = replace(before.model.config, classes=len(gallery.train.classes))
    if settings.label_smoothing is not None:
        config = replace(config, label_smoothing=settings.label_smoothing)
    if settings.dropout is not None:
        config = replace(config, stack=replace(config.stack, dropout=settings.dropout))
    return config


@dataclass(frozen=True)
class FineTuneVitTask(VitTask):
    before: PictureClassifier
    base: Path

    def fingerprint(self) -> dict[str, str]:
        weights = {"weights to begin with": file_hash(self.base / MODEL_FILE)}
        return {**super().fingerprint(), **weights, **description_hashes(self.base)}

    def assemble(self, folder: Path) -> Assembled[PictureClassifier]:
        """A head for other classes is new: at first each is as likely as any other."""
        made = super().assemble(folder)
        weights = self.before.model.state_dict()
        if not same_classes(self.gallery, self.before):
            new = made.product.model.state_dict()
            weights = {name: (new if name.startswith(HEAD) else weights)[name] for name in weights}
        made.product.model.load_state_dict(weights)
        return made

    def report(self, product: PictureClassifier, run: Run, chosen: Chosen, out: Path) -> dict[str, Any]:
        report = super().report(product, run, chosen, out)
        report["data"]["origin"] += f", on top of {self.base.name}"
        report["fine_tuned"] = {"from": self.base.name, "head": "new"}
        if same_classes(self.gallery, self.before):
            share, valid = accuracy(self.before, self.gallery.valid), self.gallery.valid
            report["fine_tuned"] |= {"head": "kept", "validation_accuracy_before": round(share, 5)}
            report["results"] = {
                "validation accuracy before": percent(share, len(valid)),
                **report["results"],
            }
        return report
