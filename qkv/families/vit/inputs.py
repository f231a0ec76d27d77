"""The labeled images that an image classifier is trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from qkv.data.origins import origin_of
from qkv.data.python_rows import is_path
from qkv.errors import InputError
from qkv.flags import OptionalModel, OptionMessageError
from qkv.training.inputs import GivenPictures, PicturesOrScenes, paths_in, side_of_scenes
from qkv.training.python_data import GivenData, Values
from qkv.training.trainable import Inputs

if TYPE_CHECKING:
    from qkv.data.labelled_pictures import LabelledParts
    from qkv.families.vit.task import LabelledData


COLUMNS = frozenset(("image_column", "label_column", "valid"))


@dataclass(frozen=True, kw_only=True)
class LabelledPictures(GivenPictures):
    PYTHON: ClassVar = COLUMNS

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        return labelled_images(cls, given)

    images: Path | None = None
    """Folder with one folder per class (optionally inside train, val and test), or with idx files."""
    scenes: int = 0
    """Train on this many built-in images of one object instead; its class is its color and shape."""
    colours: Literal["grey", "colour"] | None = None
    """Convert all images to grayscale or color."""

    def read(self, settings: Any, say: Callable[[str], None]) -> LabelledData:
        from qkv.data.labelled_pictures import read_image_folder

        valid_size = settings.data.valid_size
        self.check()
        if self.images is None and self.colours is not None:
            raise OptionMessageError("the classes of built-in scenes include colors: leave out {colours}.")
        if self.images is None:
            return scene_data(self.scenes, self.side, valid_size)
        parts = read_image_folder(self.images, size=self.size, colours=self.colours)
        return labelled_data(parts, origin_of([self.images]), valid_size)


@dataclass(frozen=True, kw_only=True)
class PicturesForModel(PicturesOrScenes):
    PYTHON: ClassVar = COLUMNS

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        return labelled_images(cls, given)

    fine_tune: OptionalModel = None
    """Folder of the classifier to fine-tune, from `qkv train vit` or `qkv import`."""
    images: Path | None = None
    """Folder with one folder per class (optionally inside train, val and test), or with idx files."""
    scenes: int = 0
    """Train on this many built-in images of one object instead; its class is its color and shape."""
    fit: bool = False
    """Resize and convert images of another size or mode instead of rejecting them."""

    def read(self, settings: Any, say: Callable[[str], None]) -> LabelledData:
        from qkv.data.labelled_pictures import read_images_for
        from qkv.families.vit.fine_tuning import classifier_in

        if self.fine_tune is None:
            raise OptionMessageError("give {fine_tune} with the folder of an image classifier.")
        form, valid_size = classifier_in(self.fine_tune)._form, settings.data.valid_size
        self.check()
        if self.images is None:
            return scene_data(self.scenes, side_of_scenes(form.height), valid_size)
        parts = read_images_for(self.images, form, fit=self.fit)
        return labelled_data(parts, origin_of([self.images]), valid_size)


def labelled_images(inputs: type[Inputs], given: Mapping[str, Any]) -> GivenData:
    """Images as rows of an image and a label, or with these columns."""
    data = GivenData(values=paths_in(inputs, given))
    if "images" not in given or is_path(given["images"]):
        if given.get("valid") is not None:
            raise InputError("the images to validate on are in the folder `valid` of a folder of images.")
        return data
    return data.with_writer(partial(write_image_folder, given))


def write_image_folder(given: Mapping[str, Any], folder: Path, _: Values) -> Values:
    from qkv.data.python_images import write_classes

    columns = given.get("image_column"), given.get("label_column")
    for part, name in (("train", "images"), ("valid", "valid")):
        if given.get(name) is not None:
            (folder / "images" / part).mkdir(parents=True)
            write_classes(folder / "images" / part, given[name], name, columns)
    return {"images": folder / "images"}


def scene_data(count: int, side: int, valid_size: str) -> LabelledData:
    from qkv.data.worlds.labelled_scenes import labelled_scenes

    return labelled_data(labelled_scenes(count, side), f"{count:,} built-in scenes", valid_size)


def labelled_data(parts: LabelledParts, origin: str, valid_size: str) -> LabelledData:
    from qkv.families.vit.task import LabelledData

    return LabelledData.of(parts.train, parts.valid, parts.test, origin, valid_size)
