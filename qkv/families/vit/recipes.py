"""Recipes for image classifiers: functions that return the settings of a run. The docstrings say what to expect."""

from collections.abc import Callable
from dataclasses import replace

from qkv.data.augmentation import Augmentation
from qkv.families.vit.settings import (
    FineTuneVitSettings,
    VitModelSettings,
    VitSettings,
)
from qkv.training.settings import TrainingSettings

DEFAULT_AUGMENTATION = Augmentation(crop=2, operations=1, magnitude=0.3, erase=0.1)


def vit(pictures: int) -> VitSettings:
    """The default: patches of 4 × 4 pixels, about 210,000 parameters, and as many epochs as fit the data."""
    batch = 6_400  # patches: 128 images of 28 × 28
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
        augment=DEFAULT_AUGMENTATION,
    )


def for_minutes(pictures: int, minutes: float, augment: Augmentation) -> VitSettings:
    settings = vit(pictures)
    training = replace(settings.training, warmup_steps=500, validate_every=500)
    return replace(settings, steps=None, minutes=minutes, training=training, augment=augment)


def mnist(pictures: int) -> VitSettings:
    """MNIST, with rotated and sheared but not mirrored digits: 99.45 % after 18 minutes."""
    return for_minutes(pictures, 18, Augmentation(crop=2, operations=1, magnitude=0.3, augment_colors=False))


def fashion(pictures: int) -> VitSettings:
    """Fashion-MNIST, with mirrored, shifted and partly erased images: 56 minutes (93.5 % after 30 on a fast machine)."""
    return for_minutes(pictures, 56, Augmentation(crop=2, flip=True, operations=1, magnitude=0.2, erase=0.3))


VIT_RECIPES: dict[str, Callable[[int], VitSettings]] = {
    "automatic": vit,
    "mnist": mnist,
    "fashion": fashion,
}


def fine_tuning(pictures: int, width: int) -> FineTuneVitSettings:
    """Three epochs, or more for fewer than about 1,400 images. Wider models get a lower learning rate."""
    epochs = max(3, round(5_000 / max(1, pictures)))
    steps = epochs * pictures / 32  # an estimate: the number of images per batch depends on their patches
    return FineTuneVitSettings(
        steps=None,
        epochs=epochs,
        training=TrainingSettings(
            batch_tokens=1_600,  # patches: 32 images of 28 × 28, or 8 of 224 × 224
            learning_rate=round(0.064 / width, 6),  # 0.001 at 64, 0.000083 at 768
            warmup_steps=round(min(400, steps / 10)),
            weight_decay=0.01,
            validate_every=round(max(20, min(1_000, steps / 10))),
        ),
        augment=DEFAULT_AUGMENTATION,
    )
