"""Options for the pictures that training reads, shared by all models of pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from qkv.errors import UserError
from qkv.training.trainable import Inputs

FEWEST_SCENES, MOST_SCENES = 100, 1_000_000  # the last are 3 GB


def check_picture_path(option: str, path: Path) -> None:
    """Before minutes of drawing: is there a place for the picture?"""
    if path.suffix.lower() != ".png":
        raise UserError(f"{option} must end in .png, and {path.name} does not.")
    if not path.parent.is_dir():
        raise UserError(
            f"there is no folder {path.parent} for the picture: make it, or give another {option}."
        )
    if path.is_dir():
        raise UserError(f"{path} is a folder: give {option} the name of a file.")


@dataclass(frozen=True, kw_only=True)
class PicturesOrScenes(Inputs):
    """What every command that trains on pictures is given."""

    images: Path | None = None
    """Folder of pictures."""
    scenes: int = 0
    """Instead: so many built-in scenes."""

    def check(self) -> None:
        if (self.images is None) == (self.scenes == 0):
            raise UserError("give --images with pictures, or --scenes with a number of built-in ones.")
        if self.images is None and not FEWEST_SCENES <= self.scenes <= MOST_SCENES:
            raise UserError(f"--scenes must lie between {FEWEST_SCENES} and {MOST_SCENES:,}.")


def side_of_scenes(size: int | None) -> int:
    from qkv.data.worlds.labelled_scenes import check_side
    from qkv.data.worlds.scenes import SIDE

    side = size or SIDE
    check_side(side)
    return side


@dataclass(frozen=True, kw_only=True)
class GivenPictures(PicturesOrScenes):
    """For a new model."""

    size: int | None = None
    """Make all pictures so many pixels wide and high."""

    @property
    def side(self) -> int:
        """Of built-in scenes."""
        return side_of_scenes(self.size)
