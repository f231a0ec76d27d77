"""Pictures that training is given: as options of a command, and from there to memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import tyro

from qkv.errors import UserError

if TYPE_CHECKING:
    from qkv.data.captioned import Captioned
    from qkv.data.images import Form
    from qkv.data.labelled_pictures import LabelledParts
    from qkv.families.dalle.codebook_task import Sights
    from qkv.families.vit.task import Gallery

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
class PicturesOrScenes:
    """What every command that trains on pictures is given."""

    images: Path | None = None
    """Folder of pictures."""
    scenes: int = 0
    """Instead: so many built-in scenes."""

    def stored(self) -> dict[str, Any]:
        facts = asdict(self)
        return {
            name: str(value.resolve()) if isinstance(value, Path) else value for name, value in facts.items()
        }

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> Self:
        paths = {field.name for field in fields(cls) if "Path" in str(field.type)}
        values: dict[str, Any] = {
            name: Path(value) if value and name in paths else value for name, value in stored.items()
        }
        return cls(**values)

    def can_be_read_again(self) -> bool:
        return True

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


@dataclass(frozen=True, kw_only=True)
class LabelledPictures(GivenPictures):
    images: Path | None = None
    """Folder whose folders are named like the classes (perhaps below train, val and test), or with idx files."""
    scenes: int = 0
    """Instead: so many built-in pictures of one thing, whose class is its colour and shape."""
    colours: Literal["grey", "colour"] | None = None
    """Make all pictures grey, or coloured."""

    def gallery(self, held_out: int) -> Gallery:
        from qkv.data.labelled_pictures import read_image_folder

        self.check()
        if self.images is None and self.colours is not None:
            raise UserError(
                "built-in scenes are coloured, for colours are in their classes: leave out --colours."
            )
        if self.images is None:
            return gallery_of_scenes(self.scenes, self.side, held_out)
        parts = read_image_folder(self.images, size=self.size, colours=self.colours)
        return gallery_of(parts, self.images.resolve().name, held_out)


@dataclass(frozen=True, kw_only=True)
class PicturesForModel(PicturesOrScenes):
    fine_tune: Annotated[Path | None, tyro.conf.arg(metavar="MODEL", help_behavior_hint="")] = None
    """Folder of the classifier to go on from, as `qkv train vit` or `qkv import` has made it."""
    images: Path | None = None
    """Folder whose folders are named like the classes (perhaps below train, val and test), or with idx files."""
    scenes: int = 0
    """Instead: so many built-in pictures of one thing, whose class is its colour and shape."""
    fit: bool = False
    """Bring pictures of another size or mode to those of the model instead of refusing them."""

    def gallery(self, form: Form, held_out: int) -> Gallery:
        from qkv.data.labelled_pictures import read_images_for

        self.check()
        if self.images is None:
            return gallery_of_scenes(self.scenes, side_of_scenes(form.height), held_out)
        parts = read_images_for(self.images, form, fit=self.fit)
        return gallery_of(parts, self.images.resolve().name, held_out)


def gallery_of_scenes(count: int, side: int, held_out: int) -> Gallery:
    from qkv.data.worlds.labelled_scenes import labelled_scenes

    return gallery_of(labelled_scenes(count, side), f"{count:,} built-in scenes", held_out)


def gallery_of(parts: LabelledParts, origin: str, held_out: int) -> Gallery:
    from qkv.families.vit.task import Gallery

    return Gallery.of(parts.train, parts.valid, parts.test, origin, held_out)


@dataclass(frozen=True, kw_only=True)
class PlainPictures(GivenPictures):
    images: Path | None = None
    """Folder of pictures, or an .npz file with an array `images`."""

    def sights(self, held_out: int) -> Sights:
        from qkv.data.captioned import read_plain, scene_pictures
        from qkv.families.dalle.codebook_task import Sights
        from qkv.families.dalle.scene_scores import reconstructed_scenes
        from qkv.training.picture_data import held_out as hold_out

        self.check()
        if self.images is None:
            train = scene_pictures("train", self.scenes, self.side).pictures
            valid = scene_pictures("valid", min(held_out, self.scenes // 10), self.side).pictures
            return Sights(
                train=train,
                valid=valid,
                origin=f"{self.scenes:,} built-in scenes",
                measure=reconstructed_scenes,
            )
        pictures = read_plain(self.images, self.size)
        kept, out = hold_out(len(pictures), held_out, seed=1)
        return Sights(
            train=pictures[kept],
            valid=pictures[out],
            origin=self.images.resolve().name,
            measure=lambda codes: {},
        )


@dataclass(frozen=True, kw_only=True)
class CaptionedPictures(GivenPictures):
    images: Path | None = None
    """Folder of pictures with captions.tsv (file name, tab, caption), or an .npz file with an array `images`."""
    captions: Path | None = None
    """Where the captions are, if not there: .tsv for a folder, a list in .json for an .npz file."""
    codebook: Path | None = None
    """Folder of a codebook made by `qkv train codebook` from pictures of the same kind."""

    def parts(self, held_out: int) -> tuple[Captioned, Captioned]:
        """To train on, and held out."""
        from qkv.data.captioned import read_captioned, scene_pictures
        from qkv.training.picture_data import held_out as hold_out

        self.check()
        if self.images is None:
            return (
                scene_pictures("train", self.scenes, self.side),
                scene_pictures("valid", min(held_out, self.scenes // 10), self.side),
            )
        given = read_captioned(self.images, self.captions, self.size)
        kept, out = hold_out(len(given), held_out, seed=1)
        return given.take(kept.tolist()), given.take(out.tolist())
