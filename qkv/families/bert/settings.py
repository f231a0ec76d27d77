"""Settings for training and fine-tuning BERT, and recipes. Importing this needs no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from qkv.errors import Rule
from qkv.training.settings import (
    FLAT,
    BlockSettings,
    RunSettings,
    TrainingSettings,
    TuningSettings,
    share_below_one,
    size_from_number,
    size_rule,
)

CHARACTERS_PER_TOKEN = 4.5  # of WordPiece tokens with their spaces, roughly


@dataclass(frozen=True, kw_only=True)
class BertModelSettings(BlockSettings):
    max_length: int
    """Context length in tokens, including [CLS] and [SEP]."""
    norm: Literal["pre", "post"] = "post"
    """Layer norm after each sublayer (post, as in the paper) or before it (pre)."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), ("max_length", "must be at least 8", self.max_length >= 8)]


@dataclass(frozen=True, kw_only=True)
class MaskingSettings:
    OLD_NAMES: ClassVar = {
        "share": "mask_share",
        "masked": "mask_token_share",
        "other": "random_token_share",
        "whole_words": "whole_word_masking",
    }

    mask_share: float = 0.15
    """Share of tokens to predict."""
    mask_token_share: float = 0.8
    """Share of those replaced by [MASK]."""
    random_token_share: float = 0.1
    """Share of those replaced by a random token; the rest stays unchanged."""
    whole_word_masking: bool = False
    """Mask all tokens of a word together."""

    def rules(self) -> list[Rule]:
        together = (
            min(self.mask_token_share, self.random_token_share) >= 0
            and self.mask_token_share + self.random_token_share <= 1
        )
        return [
            ("mask_share", "must be above 0 and at most 0.5", 0 < self.mask_share <= 0.5),
            (
                "mask_token_share, random_token_share",
                "must not be negative, nor more than 1 together",
                together,
            ),
        ]


@dataclass(frozen=True, kw_only=True)
class ProseSettings:
    OLD_NAMES: ClassVar = {"valid": "valid_size"}
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    valid_size: str = "5%"
    """Text held out for validation if none is given: a number of characters, at most a
    tenth of the data, or a share such as 5%. Whole documents are held out, or the end of each if there are few."""

    def rules(self) -> list[Rule]:
        return [size_rule(self.valid_size)]


@dataclass(frozen=True, kw_only=True)
class BertSettings(RunSettings):
    OLD_NAMES: ClassVar = {"vocabulary": "vocab_size"}

    vocab_size: int
    """Vocabulary size in tokens."""
    cased: bool = False
    """Keep upper case and accents."""
    next_sentence: bool = True
    """Also learn whether one passage follows another (next sentence prediction)."""
    model: Annotated[BertModelSettings, FLAT]
    masking: Annotated[MaskingSettings, FLAT] = MaskingSettings()
    data: Annotated[ProseSettings, FLAT] = ProseSettings()

    def rules(self) -> list[Rule]:
        return [
            *super().rules(),
            ("vocab_size", "must be at least 100", self.vocab_size >= 100),
            *self.model.rules(),
            *self.masking.rules(),
            *self.data.rules(),
        ]


@dataclass(frozen=True, kw_only=True)
class BertFineTuneSettings(TuningSettings):
    OLD_NAMES: ClassVar = {"valid": "valid_size"}
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    task: Literal["automatic", "classes", "numbers"] = "automatic"
    """What the labels are: names of classes, or numbers. automatic: numbers if some have a decimal point."""
    pretrained: bool = True
    """Start from the weights of the model. Without them, only its vocabulary and sizes are used, for comparison."""
    dropout: float = 0.1
    """Dropout rate."""
    valid_size: str = "10%"
    """Examples held out for validation if none are given: a number, at most a tenth of the data, or a share such as 10%."""

    def rules(self) -> list[Rule]:
        return [
            *super().rules(),
            share_below_one("dropout", self.dropout),
            size_rule(self.valid_size),
        ]


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
