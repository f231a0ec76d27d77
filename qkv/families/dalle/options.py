"""The options of drawing, each stated once.

The fields are the flags of `qkv draw` and the keyword arguments of `ImageGenerator.draw`.
"""

from dataclasses import dataclass
from typing import Literal

from qkv.decoding.sampling_options import temperature_rule, top_p_rule
from qkv.errors import Rule, check_rules

Ranking = Literal["likelihood", "contrast"]
STRONGEST = 100.0  # guidance
LARGEST_SCALE = 64


@dataclass(frozen=True, kw_only=True)
class DrawingOptions:
    """How images are drawn. None means the default in the model's bundle.

    Example:
        >>> options = qkv.DrawingOptions(candidates=2, seed=5)
        >>> model = qkv.load("runs/scenes")
        >>> model.draw("a ring", options).likelihood == model.draw("a ring", candidates=2, seed=5).likelihood
        True
    """

    candidates: int = 16
    """Images to draw, of which the best are kept."""
    seed: int = 1
    """The same seed draws the same images."""
    temperature: float | None = None
    """Sampling temperature. Below 1 favors likely codes, above 1 evens them out. By default the model's own."""
    top_p: float | None = None
    """Nucleus sampling: the smallest set of codes whose probabilities add up to this. By default the model's own."""
    guidance: float | None = None
    """Classifier-free guidance: how much the effect of the caption is amplified, 1 for none. By default the model's own."""
    ranking: Ranking = "likelihood"
    """Rank images by likelihood given the caption, or by how much the caption raises it."""

    def __post_init__(self) -> None:
        check_rules(
            [
                ("candidates", "must be from 1 to 1024", 1 <= self.candidates <= 1024),
                ("seed", "must not be negative", 0 <= self.seed < 2**31),
                *drawing_rules(self.temperature, self.top_p, self.guidance),
            ]
        )


@dataclass(frozen=True, kw_only=True)
class SheetOptions:
    """How many of the drawings are kept, and how large an image of them is."""

    top_k: int = 1
    """Keep this many of the best candidates, the best first. Several images are put on one sheet."""
    scale: int = 8
    """Enlarge each pixel to this many on a side."""
    overwrite: bool = False
    """Replace the file of the image if it exists."""

    def __post_init__(self) -> None:
        check_rules(
            [
                ("top_k", "must be from 1 to the number of candidates", self.top_k >= 1),
                ("scale", f"must be from 1 to {LARGEST_SCALE}", 1 <= self.scale <= LARGEST_SCALE),
            ]
        )

    def check(self, drawing: DrawingOptions) -> None:
        fits = self.top_k <= drawing.candidates
        check_rules([("top_k", "must be from 1 to the number of candidates", fits)])


def drawing_rules(temperature: float | None, top_p: float | None, guidance: float | None) -> list[Rule]:
    """None is valid; NaN breaks every rule."""
    return [
        *([] if temperature is None else [temperature_rule(temperature)]),
        *([] if top_p is None else [top_p_rule(top_p)]),
        ("guidance", f"must be from 0 to {STRONGEST:g}", guidance is None or 0 <= guidance <= STRONGEST),
    ]


DEFAULTS, ONE = DrawingOptions(), SheetOptions()
