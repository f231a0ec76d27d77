"""Settings for training an image classifier. Importing this needs no torch."""

from dataclasses import dataclass, field
from typing import Annotated

from qkv.data.augmentation import Augmentation
from qkv.errors import Rule
from qkv.training.picture_settings import HeldOutSettings, SmoothedBlockSettings
from qkv.training.settings import FLAT, RunSettings, SmoothedContinueSettings


@dataclass(frozen=True, kw_only=True)
class VitModelSettings(SmoothedBlockSettings):
    patch: int
    """Side of a patch in pixels."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), ("patch", "must be at least 1", self.patch >= 1)]


@dataclass(frozen=True, kw_only=True)
class LabelledImageSettings(RunSettings):
    """Settings of all runs on labeled images."""

    data: Annotated[HeldOutSettings, FLAT] = HeldOutSettings(valid_size="5000")  # noqa: RUF009  (it is frozen)
    augment: Annotated[Augmentation, FLAT] = field(default_factory=Augmentation)

    def rules(self) -> list[Rule]:
        augment = self.augment
        shares = 0 <= augment.magnitude <= 1 and 0 <= augment.erase <= 1
        return [
            *super().rules(),
            *self.data.rules(),
            ("crop", "must not be negative", augment.crop >= 0),
            ("operations", "must be from 0 to 20", 0 <= augment.operations <= 20),
            ("magnitude, erase", "must be from 0 to 1", shares),
        ]


@dataclass(frozen=True, kw_only=True)
class VitSettings(LabelledImageSettings):
    model: Annotated[VitModelSettings, FLAT]

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.model.rules()]


@dataclass(frozen=True, kw_only=True)
class FineTuneVitSettings(LabelledImageSettings, SmoothedContinueSettings):
    """Model and image sizes are those of the model that is fine-tuned."""
