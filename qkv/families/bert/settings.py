"""What a person may choose about a BERT, about fine-tuning one, and recipes. Importing this needs no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from qkv.errors import Rule
from qkv.training.settings import (
    FLAT,
    BlockSettings,
    RunSettings,
    TrainingSettings,
    TuningSettings,
    share_below_one,
)

LETTERS_OF_A_PIECE = 4.5  # of a word piece with its space, about


@dataclass(frozen=True, kw_only=True)
class BertModelSettings(BlockSettings):
    context: int
    """Pieces that are read at once, with [CLS] and [SEP]."""
    norm: Literal["pre", "post"] = "post"
    """Where the layer norm stands: after each sublayer as in the paper, or before it."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), ("context", "must be at least 8", self.context >= 8)]


@dataclass(frozen=True, kw_only=True)
class MaskingSettings:
    share: float = 0.15
    """Share of the pieces that are to be guessed."""
    masked: float = 0.8
    """Share of those that are replaced by [MASK] …"""
    other: float = 0.1
    """… and by another piece; the rest stays as it is."""
    whole_words: bool = False
    """Hide all pieces of a word together."""

    def rules(self) -> list[Rule]:
        together = min(self.masked, self.other) >= 0 and self.masked + self.other <= 1
        return [
            ("share", "must be above 0 and at most 0.5", 0 < self.share <= 0.5),
            ("masked, other", "must not be negative, nor more than 1 together", together),
        ]


@dataclass(frozen=True, kw_only=True)
class ProseSettings:
    valid: float = 0.05
    """Share of the text held out for validation where none is given: whole documents, or of few the end of each."""

    def rules(self) -> list[Rule]:
        return [("valid", "must be above 0 and at most 0.5", 0 < self.valid <= 0.5)]


@dataclass(frozen=True, kw_only=True)
class BertSettings(RunSettings):
    vocabulary: int
    """Pieces in the vocabulary."""
    cased: bool = False
    """Tell capitals from small letters, and keep accents."""
    next_sentence: bool = True
    """Whether a second part of text follows the first is learned too; --no-next-sentence leaves that out."""
    model: Annotated[BertModelSettings, FLAT]
    masking: Annotated[MaskingSettings, FLAT] = MaskingSettings()
    data: Annotated[ProseSettings, FLAT] = ProseSettings()

    def rules(self) -> list[Rule]:
        return [
            *super().rules(),
            ("vocabulary", "must be at least 100", self.vocabulary >= 100),
            *self.model.rules(),
            *self.masking.rules(),
            *self.data.rules(),
        ]


@dataclass(frozen=True, kw_only=True)
class BertFineTuneSettings(TuningSettings):
    task: Literal["automatic", "classes", "numbers"] = "automatic"
    """What labels are: names of classes, or numbers on a scale. automatic: numbers where some have a decimal point."""
    pretrained: bool = True
    """Begin with the weights of --fine-tune; without them only its vocabulary and sizes are taken, to compare with."""
    dropout: float = 0.1
    """Share of values dropped in training."""
    valid: float = 0.1
    """Share of the examples held out where no validation examples are given."""

    def rules(self) -> list[Rule]:
        return [
            *super().rules(),
            share_below_one("dropout", self.dropout),
            ("valid", "must be above 0 and at most 0.5", 0 < self.valid <= 0.5),
        ]


# Recipes for text: functions of the number of characters ---------------------------------------------------------


def automatic(characters: int) -> BertSettings:
    """Chosen where no recipe is named: sizes that fit the amount of text, on a laptop."""
    if characters < 500_000:
        width, depth, context, vocabulary, dropout, epochs = 128, 2, 64, 2_000, 0.1, 60
    elif characters < 5_000_000:
        width, depth, context, vocabulary, dropout, epochs = 192, 4, 128, 4_000, 0.1, 40
    else:
        width, depth, context, vocabulary, dropout, epochs = 256, 4, 128, 8_000, 0.1, 10
    batch_tokens = 4_096
    steps = round(min(6_000, max(300, epochs * characters / LETTERS_OF_A_PIECE / batch_tokens)))
    return BertSettings(
        vocabulary=vocabulary,
        steps=steps,
        model=BertModelSettings(
            width=width, depth=depth, heads=width // 32, hidden=4 * width, context=context, dropout=dropout
        ),
        training=TrainingSettings(
            batch_tokens=batch_tokens,
            rate=1e-3,
            warmup=min(500, steps // 10),
            betas=(0.9, 0.98),
            epsilon=1e-6,
            weight_decay=0.01,
            validate_every=max(50, steps // 10),
            average=3,
        ),
    )


def paper_base(characters: int) -> BertSettings:
    """The sizes and settings of "BERT: Pre-training of Deep Bidirectional Transformers", base: 110 M parameters."""
    steps = 1_000_000
    return BertSettings(
        vocabulary=30_000,
        steps=steps,
        model=BertModelSettings(
            width=768, depth=12, heads=12, hidden=3_072, context=512, dropout=0.1, attention_dropout=0.1
        ),
        training=TrainingSettings(
            batch_tokens=256 * 512,
            rate=1e-4,
            warmup=10_000,
            betas=(0.9, 0.999),
            epsilon=1e-6,
            weight_decay=0.01,
            validate_every=5_000,
        ),
    )


RECIPES: dict[str, Callable[[int], BertSettings]] = {"automatic": automatic, "paper-base": paper_base}


# Recipes for fine-tuning: functions of the number of examples ------------------------------------------------------


def fine_tuning(examples: int) -> BertFineTuneSettings:
    """Three epochs with a low rate that falls to zero, as in the paper (section A.3)."""
    return BertFineTuneSettings(
        steps=None,
        training=TrainingSettings(
            batch_tokens=512,
            rate=5e-5,
            warmup=100,
            betas=(0.9, 0.999),
            epsilon=1e-8,
            weight_decay=0.01,
            validate_every=max(20, min(500, examples // 64)),
            average=1,
        ),
    )


FINE_TUNE_RECIPES: dict[str, Callable[[int], BertFineTuneSettings]] = {"automatic": fine_tuning}
