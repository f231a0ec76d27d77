"""Recipes: functions that return the settings of a run. The docstrings say when to use them and what to expect."""

from collections.abc import Callable
from dataclasses import replace

from qkv.families.gpt.settings import (
    FineTuneMusicSettings,
    FineTuneSettings,
    FineTuneTextSettings,
    GPTModelSettings,
    GPTSettings,
    MusicSettings,
)
from qkv.training.settings import TrainingSettings

CHARACTERS_PER_TOKEN = 3.5  # of subwords, roughly
TOKENS_PER_EXAMPLE = 25  # of labelled examples, roughly


# Recipes for text: functions of the number of characters ---------------------------------------------------------


def automatic(characters: int) -> GPTSettings:
    """The default: sizes that fit the amount of text, on a laptop."""
    if characters < 500_000:
        width, depth, context, vocabulary, dropout, epochs = 128, 4, 128, 1_000, 0.2, 20
    elif characters < 5_000_000:
        width, depth, context, vocabulary, dropout, epochs = 192, 4, 192, 2_000, 0.1, 6
    else:
        width, depth, context, vocabulary, dropout, epochs = 256, 4, 256, 4_000, 0.0, 1
    batch_tokens = 4_096
    tokens = characters / CHARACTERS_PER_TOKEN
    steps = round(min(4_000, max(300, epochs * tokens / batch_tokens)))
    return GPTSettings(
        vocab_size=vocabulary,
        steps=steps,
        model=GPTModelSettings(
            width=width,
            depth=depth,
            heads=width // 32,
            ffn_width=4 * width,
            max_length=context,
            dropout=dropout,
        ),
        training=with_muon(batch_tokens, steps),
    )


def with_muon(batch_tokens: int, steps: int, rate: float = 6e-3) -> TrainingSettings:
    return TrainingSettings(
        batch_tokens=batch_tokens,
        learning_rate=rate,
        warmup_steps=min(200, steps // 10),
        optimizer="muon",
        adam_betas=(0.9, 0.99),
        adam_epsilon=1e-8,
        weight_decay=0.1,
        validate_every=max(25, steps // 10),
        average=3,
    )


def shakespeare_small(characters: int) -> GPTSettings:
    """The sizes, tokens and steps of nanoGPT's CPU recipe (4 blocks, width 128, context 64, 12 rows). nanoGPT reports a
    validation loss of 1.88 on tiny Shakespeare."""
    steps = 2_000
    return GPTSettings(
        token_type="characters",
        vocab_size=65,
        steps=steps,
        model=GPTModelSettings(width=128, depth=4, heads=4, ffn_width=512, max_length=64, dropout=0.0),
        training=replace(with_muon(12 * 64, steps), validate_every=250),
    )


def shakespeare_full(characters: int) -> GPTSettings:
    """The sizes of nanoGPT's GPU recipe (6 blocks, width 384, context 256, 64 rows, 5,000 steps). nanoGPT reports a
    validation loss of 1.4697 on tiny Shakespeare."""
    small, steps = shakespeare_small(characters), 5_000
    return replace(
        small,
        steps=steps,
        model=replace(small.model, width=384, depth=6, heads=6, ffn_width=1_536, max_length=256, dropout=0.2),
        training=replace(with_muon(64 * 256, steps), validate_every=250),
    )


def shakespeare_hour(characters: int) -> GPTSettings:
    """One hour on two cores: smaller than nanoGPT's full recipe, with the same context. Validation loss 1.43 on tiny
    Shakespeare."""
    full = shakespeare_full(characters)
    return replace(
        full,
        steps=None,
        minutes=60,
        model=replace(full.model, width=256, heads=4, ffn_width=1_024, dropout=0.15),
        training=replace(full.training, batch_tokens=32 * 256, validate_every=100, average=5),
    )


def gpt1(characters: int) -> GPTSettings:
    """The sizes and settings of "Improving Language Understanding by Generative Pre-Training": 117 M parameters."""
    steps = max(1_000, round(100 * characters / CHARACTERS_PER_TOKEN / (64 * 512)))  # 100 epochs
    return GPTSettings(
        vocab_size=40_000,
        steps=steps,
        model=GPTModelSettings(
            width=768,
            depth=12,
            heads=12,
            ffn_width=3_072,
            max_length=512,
            dropout=0.1,
            attention_dropout=0.1,
            norm="post",
            activation="gelu_tanh",
            positions="learned",
        ),
        training=TrainingSettings(
            batch_tokens=64 * 512,
            learning_rate=2.5e-4,
            warmup_steps=2_000,
            adam_betas=(0.9, 0.999),
            adam_epsilon=1e-8,
            weight_decay=0.01,
            validate_every=max(50, steps // 50),
        ),
    )


def gpt2(characters: int) -> GPTSettings:
    """The sizes of the smallest model of "Language Models are Unsupervised Multitask Learners": 124 M parameters."""
    before = gpt1(characters)
    return replace(
        before,
        vocab_size=50_257,
        model=replace(before.model, max_length=1_024, norm="pre"),
        training=replace(
            before.training,
            batch_tokens=512 * 1_024,
            learning_rate=6e-4,
            adam_betas=(0.9, 0.95),
            weight_decay=0.1,
        ),
    )


RECIPES: dict[str, Callable[[int], GPTSettings]] = {
    "automatic": automatic,
    "shakespeare-small": shakespeare_small,
    "shakespeare-full": shakespeare_full,
    "shakespeare-hour": shakespeare_hour,
    "gpt1": gpt1,
    "gpt2": gpt2,
}


# Recipes for music and for fine-tuning -----------------------------------------------------------------------------


def chorales(frames: int) -> MusicSettings:
    """Music in four voices, such as the JSB chorales, with a context of 128 sixteenths."""
    steps = 2_000
    return MusicSettings(
        steps=steps,
        model=GPTModelSettings(width=128, depth=4, heads=4, ffn_width=512, max_length=512, dropout=0.2),
        training=replace(with_muon(8 * 512, steps), validate_every=200),
    )


MUSIC_RECIPES: dict[str, Callable[[int], MusicSettings]] = {"automatic": chorales}


def fine_tune_text(characters: int, width: int) -> FineTuneTextSettings:
    """Three epochs, or up to twenty for texts of fewer than about 140,000 characters. Wider models get a lower learning
    rate."""
    epochs = epochs_for(500_000, characters)
    tokens = epochs * characters / CHARACTERS_PER_TOKEN
    return FineTuneTextSettings(steps=None, epochs=epochs, training=fine_tune_training(tokens, width))


def fine_tune_music(frames: int, width: int) -> FineTuneMusicSettings:
    """Three epochs, or up to twenty for fewer than about 14,000 sixteenths. Wider models get a lower learning rate."""
    epochs = epochs_for(50_000, frames)
    return FineTuneMusicSettings(
        steps=None, epochs=epochs, training=fine_tune_training(epochs * frames * 4, width)
    )


def epochs_for(enough: int, amount: int) -> int:
    return min(20, max(3, round(enough / max(1, amount))))


def fine_tune_training(tokens: float, width: int) -> TrainingSettings:
    """Settings for fine-tuning a model of this width on this many tokens."""
    batch_tokens = 2_048
    steps = tokens / batch_tokens
    return TrainingSettings(
        batch_tokens=batch_tokens,
        learning_rate=round(min(0.004, 2 / width**1.5), 6),  # 0.0014 at 128, 0.000094 at 768
        warmup_steps=round(min(200, steps / 10)),
        adam_betas=(0.9, 0.99),
        adam_epsilon=1e-8,
        weight_decay=0.01,
        validate_every=round(max(10, min(500, steps / 10))),
        average=3,
    )


def fine_tuning(examples: int, width: int) -> FineTuneSettings:
    """Three epochs, as in GPT-1 (section 4.1). Wider models get a lower learning rate, small data small batches."""
    batch_tokens = min(2_048, max(256, 256 * round(examples / 1_250)))
    steps = 3 * examples * TOKENS_PER_EXAMPLE / batch_tokens
    return FineTuneSettings(
        steps=None,
        training=TrainingSettings(
            batch_tokens=batch_tokens,
            learning_rate=round(
                min(0.004, 1_470 / width**2.5), 6
            ),  # 0.0029 at 192, which was tried; 0.00009 at 768
            warmup_steps=round(min(20, steps / 10)),
            adam_betas=(0.9, 0.999),
            adam_epsilon=1e-8,
            weight_decay=0.01,
            validate_every=200,
            average=1,
        ),
    )
