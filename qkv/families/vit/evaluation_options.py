"""The options of evaluating an image classifier, each stated once."""

from dataclasses import dataclass
from pathlib import Path

from qkv.flags import OrData


@dataclass(frozen=True, kw_only=True)
class ImageEvaluation:
    """How an image classifier is evaluated. In Python, `images` can be a list of images, with a list of `labels`."""

    images: OrData[Path | None] = None
    """Folder with one folder per class, or idx files, as for training. Its test part is used, else its validation part,
    else all of it. Images are resized to fit the model."""
    scenes: int = 0
    """Evaluate on this many built-in scenes instead, for a classifier that was trained on scenes."""
