"""Inputs of training that several families share: labelled texts, and images. Importing this needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv.flags import OptionalFile, OptionalModel, OptionMessageError
from qkv.training.trainable import Inputs

FEWEST_SCENES, MOST_SCENES = 100, 1_000_000  # a million are 3 GB


@dataclass(frozen=True, kw_only=True)
class LabelInputs(Inputs):
    fine_tune: OptionalModel = None
    """Folder of the model to fine-tune."""
    labels: OptionalFile = None
    """Labelled texts: text, tab, label; or two texts and a label. A header line may name the columns."""
    valid_labels: OptionalFile = None
    """Labelled texts to validate on; by default some of the others are held out."""
    columns: str = ""
    """Columns of the files: text,label or text,second,label, by name or by number from 1."""

    def model_and_labels(self) -> tuple[Path, Path]:
        """The model and the labels."""
        if self.fine_tune is None or self.labels is None:
            raise OptionMessageError(
                "fine-tuning needs a model and examples: give both {fine_tune} and {labels}."
            )
        return self.fine_tune, self.labels


@dataclass(frozen=True, kw_only=True)
class PicturesOrScenes(Inputs):
    """Inputs of every command that trains on images."""

    images: Path | None = None
    """Folder of images."""
    scenes: int = 0
    """Train on this many built-in scenes instead."""

    def check(self) -> None:
        if (self.images is None) == (self.scenes == 0):
            raise OptionMessageError(
                "give either {images} with a folder, or {scenes} with a number of built-in scenes."
            )
        if self.images is None and not FEWEST_SCENES <= self.scenes <= MOST_SCENES:
            raise OptionMessageError(f"{{scenes}} must be from {FEWEST_SCENES} to {MOST_SCENES:,}.")


@dataclass(frozen=True, kw_only=True)
class GivenPictures(PicturesOrScenes):
    """Inputs for a new model."""

    size: int | None = None
    """Resize all images to this many pixels on a side."""

    @property
    def side(self) -> int:
        """Pixels on a side of a built-in scene."""
        return side_of_scenes(self.size)


def side_of_scenes(size: int | None) -> int:
    from qkv.data.worlds.labelled_scenes import check_side
    from qkv.data.worlds.scenes import SIDE

    side = size or SIDE
    check_side(side)
    return side


def width_of(base: Path, *path: str) -> int | None:
    """The width in the config.json of a bundle, or None. Does not open the model."""
    from qkv.checkpoint.bundle import read_config

    found: Any = read_config(base)
    for name in ("model", *path, "stack", "width"):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, int) else None
