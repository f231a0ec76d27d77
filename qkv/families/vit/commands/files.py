"""The labelled images that `qkv train vit` reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qkv.cli.inputs import OptionalModel
from qkv.cli.picture_files import GivenPictures, PicturesOrScenes, side_of_scenes
from qkv.errors import QkvError

if TYPE_CHECKING:
    from qkv.data.labelled_pictures import LabelledParts
    from qkv.families.vit.task import LabelledData


@dataclass(frozen=True, kw_only=True)
class LabelledPictures(GivenPictures):
    images: Path | None = None
    """Folder with one folder per class (optionally inside train, val and test), or with idx files."""
    scenes: int = 0
    """Train on this many built-in images of one object instead; its class is its colour and shape."""
    colours: Literal["grey", "colour"] | None = None
    """Convert all images to greyscale or colour."""

    def read(self, settings: Any, say: Callable[[str], None]) -> LabelledData:
        from qkv.data.labelled_pictures import read_image_folder

        valid_size = settings.data.valid_size
        self.check()
        if self.images is None and self.colours is not None:
            raise QkvError("the classes of built-in scenes include colours: leave out --colours.")
        if self.images is None:
            return scene_data(self.scenes, self.side, valid_size)
        parts = read_image_folder(self.images, size=self.size, colours=self.colours)
        return labelled_data(parts, self.images.resolve().name, valid_size)


@dataclass(frozen=True, kw_only=True)
class PicturesForModel(PicturesOrScenes):
    fine_tune: OptionalModel = None
    """Folder of the classifier to fine-tune, from `qkv train vit` or `qkv import`."""
    images: Path | None = None
    """Folder with one folder per class (optionally inside train, val and test), or with idx files."""
    scenes: int = 0
    """Train on this many built-in images of one object instead; its class is its colour and shape."""
    fit: bool = False
    """Resize and convert images of another size or mode instead of rejecting them."""

    def read(self, settings: Any, say: Callable[[str], None]) -> LabelledData:
        from qkv.data.labelled_pictures import read_images_for
        from qkv.families.vit.fine_tuning import classifier_in

        if self.fine_tune is None:
            raise QkvError("give --fine-tune with the folder of an image classifier.")
        form, valid_size = classifier_in(self.fine_tune)._form, settings.data.valid_size
        self.check()
        if self.images is None:
            return scene_data(self.scenes, side_of_scenes(form.height), valid_size)
        parts = read_images_for(self.images, form, fit=self.fit)
        return labelled_data(parts, self.images.resolve().name, valid_size)


def scene_data(count: int, side: int, valid_size: str) -> LabelledData:
    from qkv.data.worlds.labelled_scenes import labelled_scenes

    return labelled_data(labelled_scenes(count, side), f"{count:,} built-in scenes", valid_size)


def labelled_data(parts: LabelledParts, origin: str, valid_size: str) -> LabelledData:
    from qkv.families.vit.task import LabelledData

    return LabelledData.of(parts.train, parts.valid, parts.test, origin, valid_size)
