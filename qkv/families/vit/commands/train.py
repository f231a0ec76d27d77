"""`qkv train vit`: train an image classifier on labeled images, or fine-tune one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qkv.families.vit.inputs import LabelledPictures, PicturesForModel
from qkv.families.vit.recipes import VIT_RECIPES, fine_tuning
from qkv.families.vit.settings import FineTuneVitSettings, VitSettings
from qkv.training.inputs import width_of
from qkv.training.settings import for_width
from qkv.training.trainable import Recipe, Trainable, always

NOMINAL_WIDTH = 64  # of the model to fine-tune, for the defaults in --help
DATA = frozenset(("images", "scenes"))


def recipes_for_model(command: Any) -> Mapping[str, Recipe]:
    """The wider the model to fine-tune, the lower the learning rate."""
    base = None if command is None else command.inputs.fine_tune
    return for_width(fine_tuning, (None if base is None else width_of(base)) or NOMINAL_WIDTH)


def head_summary(report: Mapping[str, Any]) -> list[str]:
    tuned = report["fine_tuned"]
    how = {"kept": "same classes, so its head is kept", "new": "other classes, so its head is new"}
    return [f"fine-tuned from {tuned['from']}; {how[tuned['head']]}"]


CLASSES = Trainable(
    name="vit",
    summary="Train an image classifier on your own images, for example\n"
    "  qkv train vit --images photos --size 32 --output runs/mine\n\n"
    "Fine-tune a classifier that was trained or imported before:\n"
    "  qkv train vit --fine-tune runs/published --images photos --fit --output runs/mine     (--fine-tune --help)",
    inputs=LabelledPictures,
    settings=VitSettings,
    recipes=always(VIT_RECIPES),
    nominal=60_000,
    unit="images",
    task="qkv.families.vit.task:vit_task",
    starts_with=DATA,
    usage="classify {out} picture.png",
)
FINE_TUNE = Trainable(
    name="vit",
    summary="Fine-tune an image classifier on your own images, for example\n"
    "  qkv train vit --fine-tune runs/published --images photos --fit --output runs/mine\n\n"
    "Its sizes and the size of its images do not change. If the classes are the same, its head is kept.",
    inputs=PicturesForModel,
    settings=FineTuneVitSettings,
    recipes=recipes_for_model,
    nominal=5_000,
    unit="images",
    task="qkv.families.vit.fine_tuning:fine_tune_task",
    needs=frozenset(("fine_tune",)),
    starts_with=DATA,
    usage="classify {out} picture.png",
    summary_lines=head_summary,
)
TRAINABLES = (CLASSES, FINE_TUNE)
