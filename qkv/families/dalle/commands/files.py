"""Pictures, with captions or without, that training is given: as options of a command, and from there to memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qkv.cli.picture_files import GivenPictures

if TYPE_CHECKING:
    from qkv.data.captioned import Captioned
    from qkv.families.dalle.codebook_task import Sights


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
