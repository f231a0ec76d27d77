"""Recipes for a codebook and a DALL-E: functions that state a whole run. The docstring says what to expect."""

from collections.abc import Callable

from qkv.families.dalle.settings import CodebookSettings, DalleModelSettings, DalleSettings
from qkv.training.settings import TrainingSettings


def codebook(pictures: int) -> CodebookSettings:
    """Chosen where no recipe is named: a code for each 4 × 4 pixels; 9 minutes."""
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
    """Chosen where no recipe is named: about 1.6 million weights; 45 minutes, or 20 for less than 10,000 pictures.

    Of so few the last weights are kept: names that were held out are guesses at any time, and the best guesses come
    before the others are remembered.
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
