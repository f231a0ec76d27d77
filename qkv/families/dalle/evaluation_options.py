"""The options of evaluating a DALL-E or a codebook, each stated once."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from qkv.families.dalle.options import DrawingOptions
from qkv.flags import Flag, OrData

FEW_CANDIDATES = 8


@dataclass(frozen=True, kw_only=True)
class DrawingEvaluation:
    """How a DALL-E or a codebook is evaluated. In Python, `images` of a codebook can be a list of images."""

    scenes: int = 0
    """Evaluate on this many built-in scenes. DALL-E draws captions of seen and of unseen combinations; a codebook
    encodes and decodes images. The results are compared with the captions."""
    part: Literal["test", "valid"] = "test"
    """Captions of the scenes: tune options such as the guidance on valid, and report scores on test."""
    images: OrData[Path | None] = None
    """DALL-E: its training images, for a sheet. A codebook: any images of its size."""
    captions: OrData[Path | None] = None
    """Captions of the images, as for training."""
    sheet: Path | None = None
    """DALL-E: write the drawings with their captions to this .png file."""
    overwrite: bool = False
    """Replace the sheet if it exists."""
    how: Annotated[DrawingOptions, Flag(name="")] = field(
        default_factory=lambda: DrawingOptions(candidates=FEW_CANDIDATES)
    )
