"""Settings that all image models share. Importing this needs no torch."""

from dataclasses import dataclass
from typing import ClassVar

from qkv.errors import Rule
from qkv.training.settings import BlockSettings, share_below_one, size_from_number, size_rule


@dataclass(frozen=True, kw_only=True)
class SmoothedBlockSettings(BlockSettings):
    label_smoothing: float = 0.0
    """Label smoothing."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), share_below_one("label_smoothing", self.label_smoothing)]


@dataclass(frozen=True, kw_only=True)
class HeldOutSettings:
    OLD_NAMES: ClassVar = {"valid": "valid_size"}
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    valid_size: str
    """Images held out for validation if none are given: a number, at most a tenth of the data, or a share such as 5%."""

    def rules(self) -> list[Rule]:
        return [size_rule(self.valid_size)]
