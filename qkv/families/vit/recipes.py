"""Recipes for image classifiers: functions that state a whole run. The docstring says when to use it and what to expect."""

from collections.abc import Callable
from dataclasses import replace

from qkv.data.augmentation import Augmentation
from qkv.families.vit.settings import (
    FineTuneVitSettings,
    VitModelSettings,
    VitSettings,
)
from qkv.training.settings import TrainingSettings

USUAL = Augmentation(crop=2, operations=1, magnitude=0.3, erase=0.1)


def vit(pictures: int) -> VitSettings:
    """Chosen where no recipe is named: patches of 4 pixels, about 210,000 parameters, epochs to fit the data."""
    batch = 6_400  # patches: 128 pictures of 28 × 28
    steps = max(500, min(20_000, 40 * pictures // 128))
    return VitSettings(
        steps=steps,
        model=VitModelSettings(
            patch=4, depth=6, width=64, heads=4, ffn_width=128, dropout=0.0, label_smoothing=0.1
        ),
        training=TrainingSettings(
            batch_tokens=batch,
            learning_rate=3e-3,
            warmup_steps=min(500, steps // 8),
            optimizer="muon",
            weight_decay=0.1,
            validate_every=max(50, steps // 20),
        ),
        augment=USUAL,
    )


def for_minutes(pictures: int, minutes: float, augment: Augmentation) -> VitSettings:
    settings = vit(pictures)
    training = replace(settings.training, warmup_steps=500, validate_every=500)
    return replace(settings, steps=None, minutes=minutes, training=training, augment=augment)


def mnist(pictures: int) -> VitSettings:
    """MNIST's digits: they are turned and sheared, but never mirrored; 18 minutes, 99.45 %."""
    return for_minutes(pictures, 18, Augmentation(crop=2, operations=1, magnitude=0.3, augment_colours=False))


def fashion(pictures: int) -> VitSettings:
    """Fashion-MNIST: mirrored, moved, and partly painted over; 56 minutes, of which 30 gave 93.5 % on a fast machine."""
    return for_minutes(pictures, 56, Augmentation(crop=2, flip=True, operations=1, magnitude=0.2, erase=0.3))


VIT_RECIPES: dict[str, Callable[[int], VitSettings]] = {
    "automatic": vit,
    "mnist": mnist,
    "fashion": fashion,
}


def fine_tuning(pictures: int, width: int) -> FineTuneVitSettings:
    """Three epochs with a low rate, the lower the wider the model; of few pictures more, until about 5,000 are seen."""
    epochs = max(3, round(5_000 / max(1, pictures)))
    steps = epochs * pictures / 32  # about: how many pictures make a batch depends on their patches
    return FineTuneVitSettings(
        steps=None,
        epochs=epochs,
        training=TrainingSettings(
            batch_tokens=1_600,  # patches: 32 pictures of 28 × 28, or 8 of 224 × 224
            learning_rate=round(0.064 / width, 6),  # 0.001 at 64, 0.000083 at 768
            warmup_steps=round(min(400, steps / 10)),
            weight_decay=0.01,
            validate_every=round(max(20, min(1_000, steps / 10))),
        ),
        augment=USUAL,
    )
