"""Settings that every model of pictures shares. Importing this needs no torch."""

from dataclasses import dataclass

from qkv.training.settings import BlockSettings, rules_of_blocks


@dataclass(frozen=True, kw_only=True)
class SmoothedBlockSettings(BlockSettings):
    smoothing: float = 0.0
    """Label smoothing."""


@dataclass(frozen=True, kw_only=True)
class HeldOutSettings:
    valid: int
    """Pictures held out for validation where none are given (a tenth of the data at most)."""


def rules_of_smoothed(model: SmoothedBlockSettings) -> dict[str, bool]:
    smoothing = {"--model.smoothing must be at least 0 and below 1": 0 <= model.smoothing < 1}
    return rules_of_blocks(model) | smoothing
