"""Training options that all image models share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from qkv.errors import QkvError
from qkv.training.trainable import Inputs

FEWEST_SCENES, MOST_SCENES = 100, 1_000_000  # a million are 3 GB


def check_picture_path(option: str, path: Path) -> None:
    """Before minutes of drawing: can this image be written?"""
    from qkv.families.dalle import sheet

    sheet.check_picture_path(path, option)


@dataclass(frozen=True, kw_only=True)
class PicturesOrScenes(Inputs):
    """Inputs of every command that trains on images."""

    images: Path | None = None
    """Folder of images."""
    scenes: int = 0
    """Train on this many built-in scenes instead."""

    def check(self) -> None:
        if (self.images is None) == (self.scenes == 0):
            raise QkvError(
                "give either --images with a folder, or --scenes with a number of built-in scenes."
            )
        if self.images is None and not FEWEST_SCENES <= self.scenes <= MOST_SCENES:
            raise QkvError(f"--scenes must be from {FEWEST_SCENES} to {MOST_SCENES:,}.")


def side_of_scenes(size: int | None) -> int:
    from qkv.data.worlds.labelled_scenes import check_side
    from qkv.data.worlds.scenes import SIDE

    side = size or SIDE
    check_side(side)
    return side


@dataclass(frozen=True, kw_only=True)
class GivenPictures(PicturesOrScenes):
    """Inputs for a new model."""

    size: int | None = None
    """Resize all images to this many pixels on a side."""

    @property
    def side(self) -> int:
        """Pixels on a side of a built-in scene."""
        return side_of_scenes(self.size)
