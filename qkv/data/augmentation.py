"""In which ways pictures may be shown differently each time. Importing this needs no torch."""

from dataclasses import dataclass
from typing import ClassVar

MOVES, PER_OPERATION, ERASURES = 3, 2, 5  # numbers that a picture needs


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    OLD_NAMES: ClassVar = {"colours": "augment_colours"}

    crop: int = 0
    """Pictures are moved by up to so many whole pixels in both directions; their edges are drawn out to the border."""
    flip: bool = False
    """Half of the pictures are seen in a mirror. Not for digits and letters."""
    operations: int = 0
    """RandAugment (Cubuk et al., 2020): so many operations, drawn anew for each picture."""
    magnitude: float = 0.3
    """How strong the operations are at most, 0 to 1."""
    augment_colours: bool = True
    """Operations change brightness, contrast and colours too, and not the geometry alone."""
    erase: float = 0.0
    """The share of pictures in which a random rectangle is painted over with the mean colour."""

    @property
    def draws(self) -> int:
        """Numbers between 0 and 1 that a picture needs."""
        return MOVES + PER_OPERATION * self.operations + ERASURES
