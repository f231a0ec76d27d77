"""How pictures are drawn, as far as a person may choose."""

from dataclasses import dataclass
from typing import Literal

from qkv.errors import Rule, check_rules

Ranking = Literal["likelihood", "contrast"]
COOLEST, HOTTEST = 0.01, 100.0  # temperatures: beyond, one code or none is likelier than another
STRONGEST = 100.0  # guidance


@dataclass(frozen=True, kw_only=True)
class DrawingOptions:
    """How pictures are drawn; what is None is as the model's bundle has it."""

    candidates: int = 16
    """Pictures drawn, of which the best are kept."""
    seed: int = 1
    """The same seed draws the same pictures."""
    temperature: float | None = None
    """Below 1 the likely becomes likelier, above 1 all becomes more alike; by default as the model was saved with."""
    top_p: float | None = None
    """Only the fewest codes that together are as likely as this; by default as the model was saved with."""
    guidance: float | None = None
    """How strongly what the caption changes is exaggerated, 1 for not at all; by default as the model was saved with."""
    ranking: Ranking = "likelihood"
    """The best picture is the likeliest one for the caption, or the one that the caption makes likelier most."""

    def __post_init__(self) -> None:
        check_rules(
            [
                ("candidates", "must be from 1 to 1024", 1 <= self.candidates <= 1024),
                ("seed", "must not be negative", 0 <= self.seed < 2**31),
                *rules_of_drawing(self.temperature, self.top_p, self.guidance),
            ]
        )


def rules_of_drawing(temperature: float | None, top_p: float | None, guidance: float | None) -> list[Rule]:
    """None is fine; NaN breaks every rule."""
    warm = temperature is None or COOLEST <= temperature <= HOTTEST
    return [
        ("temperature", f"must be from {COOLEST} to {HOTTEST:g}", warm),
        ("top_p", "must be in (0, 1]", top_p is None or 0 < top_p <= 1),
        ("guidance", f"must be from 0 to {STRONGEST:g}", guidance is None or 0 <= guidance <= STRONGEST),
    ]
