"""Options of image augmentation. Importing this needs no torch."""

from dataclasses import dataclass
from typing import ClassVar

MOVES, PER_OPERATION, ERASURES = 3, 2, 5  # random numbers per image


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    OLD_NAMES: ClassVar = {"colours": "augment_colors", "augment_colours": "augment_colors"}

    crop: int = 0
    """Shift images by up to this many pixels in both directions, extending their edges."""
    flip: bool = False
    """Mirror half of the images. Not for digits and letters."""
    operations: int = 0
    """RandAugment (Cubuk et al., 2020): the number of random operations per image."""
    magnitude: float = 0.3
    """Maximum strength of the operations, 0 to 1."""
    augment_colors: bool = True
    """Also change brightness, contrast and colors, not only the geometry."""
    erase: float = 0.0
    """Random erasing: the share of images in which a random rectangle gets the mean color."""

    @property
    def draws(self) -> int:
        """How many random numbers an image needs."""
        return MOVES + PER_OPERATION * self.operations + ERASURES
