"""Recipes for pictures: functions that state a whole run. The docstring says when to use it and what to expect."""

from collections.abc import Callable
from dataclasses import replace

from qkv.data.augmentation import Augmentation
from qkv.training.settings import TrainingSettings
from qkv.training.vision_settings import (
    CodebookSettings,
    DalleModelSettings,
    DalleSettings,
    VitModelSettings,
    VitSettings,
)


def vit(pictures: int) -> VitSettings:
    """Chosen where no recipe is named: patches of 4 pixels, about 210,000 parameters, epochs to fit the data."""
    batch = 6_400  # patches: 128 pictures of 28 × 28
    steps = max(500, min(20_000, 40 * pictures // 128))
    return VitSettings(
        steps=steps,
        model=VitModelSettings(patch=4, depth=6, width=64, heads=4, hidden=128, dropout=0.0, smoothing=0.1),
        training=TrainingSettings(
            batch_tokens=batch,
            rate=3e-3,
            warmup=min(500, steps // 8),
            optimiser="muon",
            weight_decay=0.1,
            validate_every=max(50, steps // 20),
        ),
        augment=Augmentation(crop=2, operations=1, magnitude=0.3, erase=0.1),
    )


def for_minutes(pictures: int, minutes: float, augment: Augmentation) -> VitSettings:
    settings = vit(pictures)
    training = replace(settings.training, warmup=500, validate_every=500)
    return replace(settings, steps=None, minutes=minutes, training=training, augment=augment)


def mnist(pictures: int) -> VitSettings:
    """MNIST's digits: they are turned and sheared, but never mirrored; 18 minutes."""
    return for_minutes(pictures, 18, Augmentation(crop=2, operations=1, magnitude=0.3, colours=False))


def fashion(pictures: int) -> VitSettings:
    """Fashion-MNIST: mirrored, moved, and partly painted over; 56 minutes."""
    return for_minutes(pictures, 56, Augmentation(crop=2, flip=True, operations=1, magnitude=0.2, erase=0.3))


VIT_RECIPES: dict[str, Callable[[int], VitSettings]] = {
    "automatic": vit,
    "mnist": mnist,
    "fashion": fashion,
}


def codebook(pictures: int) -> CodebookSettings:
    """Chosen where no recipe is named: 512 codes, each for 4 × 4 pixels."""
    return CodebookSettings(
        steps=None,
        minutes=8,
        training=TrainingSettings(
            batch_tokens=64 * 64,
            rate=3e-3,
            warmup=200,
            validate_every=500,
        ),
    )


CODEBOOK_RECIPES: dict[str, Callable[[int], CodebookSettings]] = {"automatic": codebook}


def dalle(pictures: int) -> DalleSettings:
    """Chosen where no recipe is named: sizes that fit the number of pictures, on a laptop."""
    few = pictures < 10_000
    return DalleSettings(
        vocabulary=2_000 if few else 1_000,
        steps=None,
        minutes=15 if few else 42,
        model=DalleModelSettings(depth=6, width=192, heads=6, hidden=512, dropout=0.1 if few else 0.0),
        training=TrainingSettings(
            batch_tokens=64 * 84,
            rate=3e-3,
            warmup=300,
            optimiser="muon",
            weight_decay=0.1,
            validate_every=500,
        ),
    )


DALLE_RECIPES: dict[str, Callable[[int], DalleSettings]] = {"automatic": dalle}
