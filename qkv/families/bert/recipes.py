"""Recipes: functions that return the settings of a run. The docstrings say when to use them and what to expect."""

from collections.abc import Callable

from qkv.families.bert.settings import BertFineTuneSettings, BertModelSettings, BertSettings
from qkv.training.settings import TrainingSettings

CHARACTERS_PER_TOKEN = 4.5  # of WordPiece tokens with their spaces, roughly


# Recipes for text: functions of the number of characters ---------------------------------------------------------


def automatic(characters: int) -> BertSettings:
    """The default: sizes that fit the amount of text, on a laptop."""
    if characters < 500_000:
        width, depth, context, vocabulary, dropout, epochs = 128, 2, 64, 2_000, 0.1, 60
    elif characters < 5_000_000:
        width, depth, context, vocabulary, dropout, epochs = 192, 4, 128, 4_000, 0.1, 40
    else:
        width, depth, context, vocabulary, dropout, epochs = 256, 4, 128, 8_000, 0.1, 10
    batch_tokens = 4_096
    steps = round(min(6_000, max(300, epochs * characters / CHARACTERS_PER_TOKEN / batch_tokens)))
    return BertSettings(
        vocab_size=vocabulary,
        steps=steps,
        model=BertModelSettings(
            width=width,
            depth=depth,
            heads=width // 32,
            ffn_width=4 * width,
            max_length=context,
            dropout=dropout,
        ),
        training=TrainingSettings(
            batch_tokens=batch_tokens,
            learning_rate=1e-3,
            warmup_steps=min(500, steps // 10),
            adam_betas=(0.9, 0.98),
            adam_epsilon=1e-6,
            weight_decay=0.01,
            validate_every=max(50, steps // 10),
            average=3,
        ),
    )


def paper_base(characters: int) -> BertSettings:
    """The sizes and settings of "BERT: Pre-training of Deep Bidirectional Transformers", base: 110 M parameters."""
    steps = 1_000_000
    return BertSettings(
        vocab_size=30_000,
        steps=steps,
        model=BertModelSettings(
            width=768, depth=12, heads=12, ffn_width=3_072, max_length=512, dropout=0.1, attention_dropout=0.1
        ),
        training=TrainingSettings(
            batch_tokens=256 * 512,
            learning_rate=1e-4,
            warmup_steps=10_000,
            adam_betas=(0.9, 0.999),
            adam_epsilon=1e-6,
            weight_decay=0.01,
            validate_every=5_000,
        ),
    )


RECIPES: dict[str, Callable[[int], BertSettings]] = {"automatic": automatic, "paper-base": paper_base}


# Recipes for fine-tuning: functions of the number of examples ------------------------------------------------------


def fine_tuning(examples: int) -> BertFineTuneSettings:
    """Three epochs with a low learning rate that decays to zero, as in the paper (section A.3)."""
    return BertFineTuneSettings(
        steps=None,
        training=TrainingSettings(
            batch_tokens=512,
            learning_rate=5e-5,
            warmup_steps=100,
            adam_betas=(0.9, 0.999),
            adam_epsilon=1e-8,
            weight_decay=0.01,
            validate_every=max(20, min(500, examples // 64)),
            average=1,
        ),
    )


FINE_TUNE_RECIPES: dict[str, Callable[[int], BertFineTuneSettings]] = {"automatic": fine_tuning}
