"""Settings that every model of pictures shares. Importing this needs no torch."""

from dataclasses import dataclass

from qkv.errors import Rule
from qkv.training.settings import BlockSettings, share_below_one


@dataclass(frozen=True, kw_only=True)
class SmoothedBlockSettings(BlockSettings):
    smoothing: float = 0.0
    """Label smoothing."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), share_below_one("smoothing", self.smoothing)]


@dataclass(frozen=True, kw_only=True)
class HeldOutSettings:
    valid: int
    """Pictures held out for validation where none are given (a tenth of the data at most)."""

    def rules(self) -> list[Rule]:
        return [("valid", "must be at least 1", self.valid >= 1)]
