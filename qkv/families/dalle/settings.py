"""Settings for training a codebook and a DALL-E. Importing this needs no torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from qkv.errors import Rule
from qkv.families.dalle.options import drawing_rules
from qkv.training.picture_settings import HeldOutSettings, SmoothedBlockSettings
from qkv.training.settings import FLAT, RunSettings, share_below_one


@dataclass(frozen=True, kw_only=True)
class CodebookModelSettings:
    OLD_NAMES: ClassVar = {"quantiser": "quantizer"}

    patch: int = 4
    """Side of the square of pixels that one code stands for."""
    width: int = 64
    """Width of the convolutions."""
    depth: int = 1
    """Pairs of convolutions in the encoder, and in the decoder."""
    quantizer: Literal["lattice", "gumbel"] = "lattice"
    """How codes are chosen: by rounding a few numbers (lattice), or by Gumbel-softmax as in the paper (gumbel)."""
    levels: tuple[int, ...] = (8, 8, 8)
    """Levels of each number in the lattice; their product is the number of codes."""
    temperature: float = 1.0
    """Temperature of the Gumbel-softmax."""

    def rules(self) -> list[Rule]:
        return [
            ("patch, width", "must be at least 1", min(self.patch, self.width) >= 1),
            ("depth", "must not be negative", self.depth >= 0),
            ("levels", "must each be at least 2", bool(self.levels) and min(self.levels) >= 2),
            ("temperature", "must be more than 0", self.temperature > 0),
        ]


@dataclass(frozen=True, kw_only=True)
class CodebookSettings(RunSettings):
    model: Annotated[CodebookModelSettings, FLAT] = CodebookModelSettings()
    data: Annotated[HeldOutSettings, FLAT] = HeldOutSettings(valid_size="1000")  # noqa: RUF009  (it is frozen)

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.model.rules(), *self.data.rules()]


@dataclass(frozen=True, kw_only=True)
class DalleModelSettings(SmoothedBlockSettings):
    text_share: float = 1 / 8
    """Weight of the caption in the loss; the rest is for the image."""
    blank_captions: float = 0.1
    """Share of captions left empty in training, which classifier-free guidance needs."""

    def rules(self) -> list[Rule]:
        return [
            *super().rules(),
            ("text_share", "must be from 0 to 1", 0 <= self.text_share <= 1),
            share_below_one("blank_captions", self.blank_captions),
        ]


@dataclass(frozen=True, kw_only=True)
class DrawingSettings:
    temperature: float = 0.8
    """Sampling temperature; below 1, likely codes become more likely."""
    top_p: float = 0.95
    """Nucleus sampling: the smallest set of codes whose probabilities add up to this."""
    guidance: float = 2.0
    """Strength of classifier-free guidance; 1 for none."""

    def rules(self) -> list[Rule]:
        return drawing_rules(self.temperature, self.top_p, self.guidance)


@dataclass(frozen=True, kw_only=True)
class MeasuredSettings:
    OLD_NAMES: ClassVar = {"captions": "measured_captions", "candidates": "measured_candidates"}

    measured_captions: int = 200
    """Captions of built-in scenes to draw for the report, of seen and unseen combinations each."""
    measured_candidates: int = 8
    """Images to draw per caption; the best one counts."""

    def rules(self) -> list[Rule]:
        least = min(self.measured_captions, self.measured_candidates)
        return [("measured_captions, measured_candidates", "must be at least 1", least >= 1)]


@dataclass(frozen=True, kw_only=True)
class DalleSettings(RunSettings):
    OLD_NAMES: ClassVar = {"vocabulary": "vocab_size"}

    vocab_size: int
    """Vocabulary size of the captions, in tokens."""
    model: Annotated[DalleModelSettings, FLAT]
    data: Annotated[HeldOutSettings, FLAT] = HeldOutSettings(valid_size="1000")  # noqa: RUF009  (it is frozen)
    drawing: Annotated[DrawingSettings, FLAT] = DrawingSettings()
    measured: Annotated[MeasuredSettings, FLAT] = MeasuredSettings()

    def rules(self) -> list[Rule]:
        groups = (self.model, self.data, self.drawing, self.measured)
        return [*super().rules(), *(rule for group in groups for rule in group.rules())]
