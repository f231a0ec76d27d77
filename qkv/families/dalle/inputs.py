"""The images and captions that a codebook and DALL-E are trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from qkv.data.origins import origin_of
from qkv.data.python_rows import is_path
from qkv.errors import InputError, QkvError
from qkv.flags import OptionMessageError
from qkv.training.inputs import GivenPictures, paths_in
from qkv.training.python_data import GivenData, Values

if TYPE_CHECKING:
    from qkv.data.captioned import Captioned
    from qkv.families.dalle.codebook_task import ImageData
    from qkv.families.dalle.task import CaptionedData


def write_plain_images(given: Mapping[str, Any], folder: Path, _: Values) -> Values:
    from qkv.data.python_images import write_images

    (folder / "images").mkdir()
    write_images(folder / "images", given["images"], "images", given.get("image_column"))
    return {"images": folder / "images"}


def write_captioned_images(given: Mapping[str, Any], folder: Path, _: Values) -> Values:
    from qkv.data.python_images import write_captioned

    images, captions = given["images"], given.get("captions")
    if captions is not None:
        if is_path(captions):
            raise InputError("a file of captions belongs to a folder of images. Give the captions as a list.")
        images = {"image": images, "caption": captions}
    (folder / "images").mkdir()
    columns = given.get("image_column"), given.get("caption_column")
    write_captioned(folder / "images", images, "images", columns)
    return {"images": folder / "images"}


@dataclass(frozen=True, kw_only=True)
class PlainPictures(GivenPictures):
    PYTHON: ClassVar = frozenset(("image_column",))

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        """Images alone, or a column of them."""
        data = GivenData(values=paths_in(cls, given))
        written = "images" in given and not is_path(given["images"])
        return data.with_writer(partial(write_plain_images, given)) if written else data

    images: Path | None = None
    """Folder of images, or an .npz file with an array `images`."""

    def read(self, settings: Any, say: Callable[[str], None]) -> ImageData:
        from qkv.data.captioned import read_plain, scene_pictures
        from qkv.data.holding_out import count_to_hold_out
        from qkv.data.labelled_pictures import hold_out
        from qkv.families.dalle.codebook_task import ImageData
        from qkv.families.dalle.scene_scores import reconstructed_scenes

        valid_size = settings.data.valid_size
        self.check()
        if self.images is None:
            train = scene_pictures("train", self.scenes, self.side).pictures
            valid = scene_pictures("valid", count_to_hold_out(valid_size, self.scenes), self.side).pictures
            return ImageData(
                train=train,
                valid=valid,
                origin=f"{self.scenes:,} built-in scenes",
                measure=reconstructed_scenes,
            )
        pictures = read_plain(self.images, self.size)
        kept, out = hold_out(len(pictures), valid_size, seed=1)
        return ImageData(
            train=pictures[kept],
            valid=pictures[out],
            origin=origin_of([self.images]),
            measure=lambda codes: {},
        )


@dataclass(frozen=True, kw_only=True)
class CaptionedPictures(GivenPictures):
    PYTHON: ClassVar = frozenset(("image_column", "caption_column"))

    @classmethod
    def from_python(cls, given: Mapping[str, Any]) -> GivenData:
        """Images as rows of an image and a caption, or with these columns, or images and captions apart."""
        data = GivenData(values=paths_in(cls, given))
        written = "images" in given and not is_path(given["images"])
        return data.with_writer(partial(write_captioned_images, given)) if written else data

    images: Path | None = None
    """Folder of images with captions.tsv (file name, tab, caption), or an .npz file with an array `images`."""
    captions: Path | None = None
    """File of captions, if it is elsewhere: .tsv for a folder, a .json list for an .npz file."""
    codebook: Path | None = None
    """Folder of a codebook from `qkv train codebook`, trained on similar images."""

    def read(self, settings: Any, say: Callable[[str], None]) -> CaptionedData:
        return read_captioned_data(self, settings.data.valid_size)

    def parts(self, valid_size: str) -> tuple[Captioned, Captioned]:
        """Training and validation part."""
        from qkv.data.captioned import read_captioned, scene_pictures
        from qkv.data.holding_out import count_to_hold_out
        from qkv.data.labelled_pictures import hold_out

        self.check()
        if self.images is None:
            return (
                scene_pictures("train", self.scenes, self.side),
                scene_pictures("valid", count_to_hold_out(valid_size, self.scenes), self.side),
            )
        given = read_captioned(self.images, self.captions, self.size)
        kept, out = hold_out(len(given), valid_size, seed=1)
        return given.take(kept), given.take(out)


def read_captioned_data(files: CaptionedPictures, valid_size: str) -> CaptionedData:
    from qkv.data.worlds.scenes import all_captions
    from qkv.families.dalle.codes import Codebook
    from qkv.families.dalle.scene_scores import evaluate_scenes
    from qkv.families.dalle.task import CaptionedData
    from qkv.families.loading import load_for

    files.check()
    if files.codebook is None:
        raise OptionMessageError(
            "{codebook} is missing: give the folder of a codebook from `qkv train codebook`."
        )
    codes = load_for(files.codebook, "train dalle", Codebook)
    train, valid = files.parts(valid_size)
    own, shape = codes.config, train.pictures.shape[1:]
    if shape != (own.channels, own.side, own.side):
        raise QkvError(
            f"the images have {shape[2]} × {shape[1]} pixels and {shape[0]} channels, but the codebook needs "
            f"{own.side} × {own.side} and {own.channels}: train a codebook on these images."
        )
    built_in = files.images is None
    return CaptionedData(
        train=train,
        valid=valid,
        codes=codes,
        origin=f"{files.scenes:,} built-in scenes" if files.images is None else origin_of([files.images]),
        world=all_captions() if built_in else [],
        measure=evaluate_scenes if built_in else lambda painter, wanted: {},
    )
