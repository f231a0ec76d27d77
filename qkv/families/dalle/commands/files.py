"""The images and captions that `qkv train codebook` and `qkv train dalle` read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qkv.cli.picture_files import GivenPictures
from qkv.errors import QkvError

if TYPE_CHECKING:
    from qkv.data.captioned import Captioned
    from qkv.families.dalle.codebook_task import ImageData
    from qkv.families.dalle.task import CaptionedData


@dataclass(frozen=True, kw_only=True)
class PlainPictures(GivenPictures):
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
            origin=self.images.resolve().name,
            measure=lambda codes: {},
        )


@dataclass(frozen=True, kw_only=True)
class CaptionedPictures(GivenPictures):
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
        raise QkvError("--codebook is missing: give the folder of a codebook from `qkv train codebook`.")
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
        origin=f"{files.scenes:,} built-in scenes" if files.images is None else files.images.resolve().name,
        world=all_captions() if built_in else [],
        measure=evaluate_scenes if built_in else lambda painter, wanted: {},
    )
