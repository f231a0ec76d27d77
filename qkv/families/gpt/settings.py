"""Settings for training and fine-tuning a language model, and recipes. Importing this needs no torch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from qkv.errors import Rule
from qkv.training.settings import (
    FLAT,
    BlockSettings,
    ContinueSettings,
    RunSettings,
    TrainingSettings,
    TuningSettings,
    share_below_one,
    size_from_number,
    size_rule,
)

CHARACTERS_PER_TOKEN = 3.5  # of subwords, roughly
TOKENS_PER_EXAMPLE = 25  # of labelled examples, roughly


@dataclass(frozen=True, kw_only=True)
class GPTModelSettings(BlockSettings):
    max_length: int
    """Context length in tokens."""
    norm: Literal["pre", "post"] = "pre"
    """Layer norm before each sublayer (pre, as in GPT-2) or after it (post, as in GPT-1)."""
    positions: Literal["learned", "rotary"] = "rotary"
    """Position encoding: learned vectors as in both papers, or rotary (RoPE)."""

    def rules(self) -> list[Rule]:
        even = self.heads < 1 or self.positions != "rotary" or self.width // self.heads % 2 == 0
        return [
            *super().rules(),
            ("width", "divided by heads must be even with rotary positions", even),
            ("max_length", "must be at least 8", self.max_length >= 8),
        ]


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    OLD_NAMES: ClassVar = {"valid": "valid_size", "most_valid": "max_valid_characters"}
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    valid_size: str = "10%"
    """Text held out for validation if none is given: a number of characters, at most a
    tenth of the data, or a share such as 10%. Whole documents are held out, or the end of each if there are few."""
    max_valid_characters: int = 200_000
    """Maximum number of characters held out."""

    def rules(self) -> list[Rule]:
        return [
            size_rule(self.valid_size),
            ("max_valid_characters", "must be at least 1", self.max_valid_characters >= 1),
        ]


@dataclass(frozen=True, kw_only=True)
class GPTSettings(RunSettings):
    OLD_NAMES: ClassVar = {"vocabulary": "vocab_size", "pieces": "token_type"}

    token_type: Literal["subwords", "characters"] = "subwords"
    """What a token is: a byte-level subword, or a character."""
    vocab_size: int
    """Number of subwords. With characters, the vocabulary is all characters of the text."""
    model: Annotated[GPTModelSettings, FLAT]
    data: Annotated[TextSettings, FLAT] = TextSettings()

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.model.rules(), *self.data.rules()]


@dataclass(frozen=True, kw_only=True)
class MusicSettings(RunSettings):
    transpose: int = 5
    """Transpose each chorale in every epoch by up to this many semitones; 0 for none."""
    model: Annotated[GPTModelSettings, FLAT]

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.model.rules(), transpose_rule(self.transpose)]


@dataclass(frozen=True, kw_only=True)
class FineTuneTextSettings(ContinueSettings):
    """Sizes and vocabulary are those of the model that is fine-tuned."""

    data: Annotated[TextSettings, FLAT] = TextSettings()

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.data.rules()]


@dataclass(frozen=True, kw_only=True)
class FineTuneMusicSettings(ContinueSettings):
    """Sizes are those of the model that is fine-tuned."""

    transpose: int = 5
    """Transpose each chorale in every epoch by up to this many semitones; 0 for none."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), transpose_rule(self.transpose)]


@dataclass(frozen=True, kw_only=True)
class FineTuneSettings(TuningSettings):
    OLD_NAMES: ClassVar = {"auxiliary": "auxiliary_weight", "valid": "valid_size"}
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    auxiliary_weight: float = 0.5
    """Weight of the language model's own loss (λ in the paper); 0 for none."""
    form: Literal["automatic", "classification", "entailment", "similarity", "choice"] = "automatic"
    """How an example is read: one text (classification), two texts in order (entailment), two texts in both orders
    (similarity), or a text with each of several answers (choice). automatic: classification for one text, similarity for two
    texts and a number, entailment for two texts and a class."""
    pretrained: bool = True
    """Start from the weights of the model. Without them, only its vocabulary and sizes are used, for comparison."""
    dropout: float = 0.1
    """Dropout rate."""
    valid_size: str = "10%"
    """Examples held out for validation if none are given: a number, at most a tenth of the data, or a share such as 10%."""

    def rules(self) -> list[Rule]:
        return [
            *super().rules(),
            ("auxiliary_weight", "must not be negative", self.auxiliary_weight >= 0),
            share_below_one("dropout", self.dropout),
            size_rule(self.valid_size),
        ]


def transpose_rule(semitones: int) -> Rule:
    return "transpose", "must be from 0 to 11", 0 <= semitones <= 11


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
