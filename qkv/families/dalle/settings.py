"""Settings for training a codebook and a DALL-E. Importing this needs no torch."""

from dataclasses import dataclass
from typing import Literal

from qkv.families.dalle.options import rules_of_drawing
from qkv.training.picture_settings import HeldOutSettings, SmoothedBlockSettings, rules_of_smoothed
from qkv.training.settings import RunSettings, refuse_broken, rules_of_run


@dataclass(frozen=True, kw_only=True)
class CodebookModelSettings:
    patch: int = 4
    """Pixels on a side that one code stands for."""
    width: int = 64
    """Width of the convolutions."""
    depth: int = 1
    """Pairs of convolutions in the encoder, and in the decoder."""
    quantiser: Literal["lattice", "gumbel"] = "lattice"
    """How a code is chosen: by rounding a few numbers, or among scores with noise as in the paper."""
    levels: tuple[int, ...] = (8, 8, 8)
    """Levels of each number of the lattice; their product is the number of codes."""
    temperature: float = 1.0
    """Of the noisy choice."""


@dataclass(frozen=True, kw_only=True)
class CodebookSettings(RunSettings):
    model: CodebookModelSettings = CodebookModelSettings()
    data: HeldOutSettings = HeldOutSettings(valid=1_000)  # noqa: RUF009  (it is frozen)


@dataclass(frozen=True, kw_only=True)
class DalleModelSettings(SmoothedBlockSettings):
    text_share: float = 1 / 8
    """Of the loss; the rest is that of the picture."""
    blank_captions: float = 0.1
    """Share of captions left out in training, so that a drawing can be pulled towards its caption."""


@dataclass(frozen=True, kw_only=True)
class DrawingSettings:
    temperature: float = 0.8
    """Below 1 the likely codes become likelier."""
    top_p: float = 0.95
    """Only the fewest codes that together are as likely as this."""
    guidance: float = 2.0
    """How strongly what the caption changes is exaggerated; 1 for not at all."""


@dataclass(frozen=True, kw_only=True)
class MeasuredSettings:
    captions: int = 200
    """Captions of built-in scenes drawn for the report, of seen and of unseen combinations each."""
    candidates: int = 8
    """Pictures drawn for each, of which the best counts."""


@dataclass(frozen=True, kw_only=True)
class DalleSettings(RunSettings):
    vocabulary: int
    """Pieces of captions."""
    model: DalleModelSettings
    data: HeldOutSettings = HeldOutSettings(valid=1_000)  # noqa: RUF009  (it is frozen)
    drawing: DrawingSettings = DrawingSettings()
    measured: MeasuredSettings = MeasuredSettings()


def check_codebook(settings: CodebookSettings) -> None:
    model = settings.model
    refuse_broken(
        rules_of_run(settings)
        | {
            "--model.patch and --model.width must be at least 1": min(model.patch, model.width) >= 1,
            "--model.depth must not be negative": model.depth >= 0,
            "--model.levels must each be at least 2": bool(model.levels) and min(model.levels) >= 2,
            "--model.temperature must be more than 0": model.temperature > 0,
            "--data.valid must be at least 1": settings.data.valid >= 1,
        }
    )


def check_dalle(settings: DalleSettings) -> None:
    model, drawing = settings.model, settings.drawing
    refuse_broken(
        rules_of_run(settings)
        | rules_of_smoothed(model)
        | rules_of_drawing("--drawing.", drawing.temperature, drawing.top_p, drawing.guidance)
        | {
            "--model.text-share must lie between 0 and 1": 0 <= model.text_share <= 1,
            "--model.blank-captions must be at least 0 and below 1": 0 <= model.blank_captions < 1,
            "--measured.captions and --measured.candidates must be at least 1": min(
                settings.measured.captions, settings.measured.candidates
            )
            >= 1,
            "--data.valid must be at least 1": settings.data.valid >= 1,
        }
    )
