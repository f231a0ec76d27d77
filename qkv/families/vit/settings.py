"""Settings for training an image classifier. Importing this needs no torch."""

from dataclasses import dataclass, field

from qkv.data.augmentation import Augmentation
from qkv.training.picture_settings import HeldOutSettings, SmoothedBlockSettings, rules_of_smoothed
from qkv.training.settings import (
    RunSettings,
    SmoothedGoingOnSettings,
    refuse_broken,
    rules_of_run,
    rules_of_smoothed_going_on,
)


@dataclass(frozen=True, kw_only=True)
class VitModelSettings(SmoothedBlockSettings):
    patch: int
    """Pixels on a side of a patch."""


@dataclass(frozen=True, kw_only=True)
class ClassedPictureSettings(RunSettings):
    """What every run on pictures with classes has."""

    data: HeldOutSettings = HeldOutSettings(valid=5_000)  # noqa: RUF009  (it is frozen)
    augment: Augmentation = field(default_factory=Augmentation)


@dataclass(frozen=True, kw_only=True)
class VitSettings(ClassedPictureSettings):
    model: VitModelSettings


@dataclass(frozen=True, kw_only=True)
class FineTuneVitSettings(ClassedPictureSettings, SmoothedGoingOnSettings):
    """Sizes are those of the model that is fine-tuned, and so is the form of its pictures."""


def check_vit(settings: VitSettings) -> None:
    refuse_broken(
        rules_of_run(settings)
        | rules_of_smoothed(settings.model)
        | {"--model.patch must be at least 1": settings.model.patch >= 1}
        | rules_of_classed_pictures(settings)
    )


def check_fine_tuned_vit(settings: FineTuneVitSettings) -> None:
    refuse_broken(rules_of_smoothed_going_on(settings) | rules_of_classed_pictures(settings))


def rules_of_classed_pictures(settings: ClassedPictureSettings) -> dict[str, bool]:
    augment = settings.augment
    return {
        "--data.valid must be at least 1": settings.data.valid >= 1,
        "--augment.crop must not be negative": augment.crop >= 0,
        "--augment.operations must lie between 0 and 20": 0 <= augment.operations <= 20,
        "--augment.magnitude and --augment.erase must lie between 0 and 1": 0 <= augment.magnitude <= 1
        and 0 <= augment.erase <= 1,
    }
