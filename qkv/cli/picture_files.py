"""Pictures that training is given: as options of a command, and from there to memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qkv.cli.inputs import OptionalModel
from qkv.errors import UserError
from qkv.training.trainable import Inputs

if TYPE_CHECKING:
    from qkv.data.captioned import Captioned
    from qkv.data.labelled_pictures import LabelledParts
    from qkv.families.dalle.codebook_task import Sights
    from qkv.families.dalle.task import Album
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


@dataclass(frozen=True, kw_only=True)
class LabelledPictures(GivenPictures):
    images: Path | None = None
    """Folder whose folders are named like the classes (perhaps below train, val and test), or with idx files."""
    scenes: int = 0
    """Instead: so many built-in pictures of one thing, whose class is its colour and shape."""
    colours: Literal["grey", "colour"] | None = None
    """Make all pictures grey, or coloured."""

    def read(self, settings: Any, say: Callable[[str], None]) -> Gallery:
        from qkv.data.labelled_pictures import read_image_folder

        held_out = settings.data.valid
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
    fine_tune: OptionalModel = None
    """Folder of the classifier to fine-tune, from `qkv train vit` or `qkv import`."""
    images: Path | None = None
    """Folder whose folders are named like the classes (perhaps below train, val and test), or with idx files."""
    scenes: int = 0
    """Instead: so many built-in pictures of one thing, whose class is its colour and shape."""
    fit: bool = False
    """Bring pictures of another size or mode to those of the model instead of refusing them."""

    def read(self, settings: Any, say: Callable[[str], None]) -> Gallery:
        from qkv.data.labelled_pictures import read_images_for
        from qkv.families.vit.fine_tuning import classifier_in

        if self.fine_tune is None:
            raise UserError("give --fine-tune with the folder of an image classifier.")
        form, held_out = classifier_in(self.fine_tune).form, settings.data.valid
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

    def read(self, settings: Any, say: Callable[[str], None]) -> Sights:
        from qkv.data.captioned import read_plain, scene_pictures
        from qkv.families.dalle.codebook_task import Sights
        from qkv.families.dalle.scene_scores import reconstructed_scenes
        from qkv.training.picture_data import held_out as hold_out

        held_out = settings.data.valid
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

    def read(self, settings: Any, say: Callable[[str], None]) -> Album:
        return read_album(self, settings.data.valid)

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


def read_album(files: CaptionedPictures, held_out: int) -> Album:
    from qkv.data.worlds.scenes import all_captions
    from qkv.families.dalle.codes import Codes
    from qkv.families.dalle.scene_scores import measured_on_scenes
    from qkv.families.dalle.task import Album
    from qkv.families.loading import load_for

    files.check()
    if files.codebook is None:
        raise UserError(
            "--codebook is missing: the folder of one that `qkv train codebook` has made from such pictures."
        )
    codes = load_for(files.codebook, "train dalle", Codes)
    train, valid = files.parts(held_out)
    own, shape = codes.model.config, train.pictures.shape[1:]
    if shape != (own.channels, own.side, own.side):
        raise UserError(
            f"the pictures have {shape[2]} × {shape[1]} pixels of {shape[0]} numbers each, and those of the codebook "
            f"{own.side} × {own.side} of {own.channels}: train one with these pictures."
        )
    built_in = files.images is None
    return Album(
        train=train,
        valid=valid,
        codes=codes,
        origin=f"{files.scenes:,} built-in scenes" if files.images is None else files.images.resolve().name,
        world=all_captions() if built_in else [],
        measure=measured_on_scenes if built_in else lambda painter, wanted: {},
    )
