"""Recipes for codebooks and DALL-E: functions that return the settings of a run. The docstrings say what to expect."""

from collections.abc import Callable

from qkv.families.dalle.settings import CodebookSettings, DalleModelSettings, DalleSettings
from qkv.training.settings import TrainingSettings


def codebook(pictures: int) -> CodebookSettings:
    """The default: one code per 4 × 4 pixels; 9 minutes."""
    return CodebookSettings(
        steps=None,
        minutes=9,
        training=TrainingSettings(
            batch_tokens=32 * 64,
            learning_rate=3e-3,
            warmup_steps=200,
            validate_every=500,
        ),
    )


CODEBOOK_RECIPES: dict[str, Callable[[int], CodebookSettings]] = {"automatic": codebook}


def dalle(pictures: int) -> DalleSettings:
    """The default: about 1.6 million parameters; 45 minutes, or 20 for fewer than 10,000 images.

    With so few images the last weights are kept: held-out captions can only be guessed, so the validation loss is lowest
    before the model has learned the training captions.
    """
    few = pictures < 10_000
    return DalleSettings(
        vocab_size=2_000 if few else 1_000,
        steps=None,
        minutes=20 if few else 45,
        model=DalleModelSettings(depth=4, width=192, heads=6, ffn_width=512, dropout=0.1 if few else 0.0),
        training=TrainingSettings(
            batch_tokens=32 * 84,
            learning_rate=3e-3,
            warmup_steps=300,
            optimizer="muon",
            weight_decay=0.1,
            validate_every=500,
            keep="last" if few else "best",
        ),
    )


DALLE_RECIPES: dict[str, Callable[[int], DalleSettings]] = {"automatic": dalle}
