"""What a person may choose about a language model, about fine-tuning one, and recipes. Importing this needs no torch."""

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

LETTERS_OF_A_PIECE = 3.5  # of a subword, about
TOKENS_OF_AN_EXAMPLE = 25  # of one with a label, about


@dataclass(frozen=True, kw_only=True)
class GPTModelSettings(BlockSettings):
    max_length: int
    """Tokens that are looked back at."""
    norm: Literal["pre", "post"] = "pre"
    """Where the layer norm stands: before each sublayer as in GPT-2, or after it as in GPT-1."""
    positions: Literal["learned", "rotary"] = "rotary"
    """How positions are told apart: learned vectors as in both papers, or turned queries and keys."""

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
    """Text held out for validation if none is given: a share such as 10%, or a number of characters. Whole documents, or, of
    few documents, the end of each."""
    max_valid_characters: int = 200_000
    """Characters held out at most."""

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
    """Subwords in the vocabulary; characters are as many as the text has."""
    model: Annotated[GPTModelSettings, FLAT]
    data: Annotated[TextSettings, FLAT] = TextSettings()

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.model.rules(), *self.data.rules()]


@dataclass(frozen=True, kw_only=True)
class MusicSettings(RunSettings):
    transpose: int = 5
    """In every epoch each piece is moved up or down by at most so many semitones; 0 for never."""
    model: Annotated[GPTModelSettings, FLAT]

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.model.rules(), transposes(self.transpose)]


@dataclass(frozen=True, kw_only=True)
class FineTuneTextSettings(ContinueSettings):
    """Sizes and vocabulary are those of the model that is fine-tuned."""

    data: Annotated[TextSettings, FLAT] = TextSettings()

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.data.rules()]


@dataclass(frozen=True, kw_only=True)
class FineTuneMusicSettings(ContinueSettings):
    """The same for a model of music."""

    transpose: int = 5
    """In every epoch each piece is moved up or down by at most so many semitones; 0 for never."""

    def rules(self) -> list[Rule]:
        return [*super().rules(), transposes(self.transpose)]


@dataclass(frozen=True, kw_only=True)
class FineTuneSettings(TuningSettings):
    OLD_NAMES: ClassVar = {"auxiliary": "auxiliary_weight", "valid": "valid_size"}
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    auxiliary_weight: float = 0.5
    """Weight of the language model's own loss (λ in the paper); 0 for none."""
    form: Literal["automatic", "classification", "entailment", "similarity", "choice"] = "automatic"
    """How an example is read: one text; two in their order; two in both orders; a text with each of several answers.
    automatic: classification for one text, similarity for two texts with a number, entailment for two with a class."""
    pretrained: bool = True
    """Begin with the weights of --fine-tune; without them only its vocabulary and sizes are taken, to compare with."""
    dropout: float = 0.1
    """Share of values dropped in training."""
    valid_size: str = "10%"
    """Examples held out for validation if none are given: a share such as 10%, or a number."""

    def rules(self) -> list[Rule]:
        return [
            *super().rules(),
            ("auxiliary_weight", "must not be negative", self.auxiliary_weight >= 0),
            share_below_one("dropout", self.dropout),
            size_rule(self.valid_size),
        ]


def transposes(semitones: int) -> Rule:
    return "transpose", "must be from 0 to 11", 0 <= semitones <= 11


# Recipes for text: functions of the number of characters ---------------------------------------------------------


def automatic(characters: int) -> GPTSettings:
    """Chosen where no recipe is named: sizes that fit the amount of text, on a laptop."""
    if characters < 500_000:
        width, depth, context, vocabulary, dropout, epochs = 128, 4, 128, 1_000, 0.2, 20
    elif characters < 5_000_000:
        width, depth, context, vocabulary, dropout, epochs = 192, 4, 192, 2_000, 0.1, 6
    else:
        width, depth, context, vocabulary, dropout, epochs = 256, 4, 256, 4_000, 0.0, 1
    batch_tokens = 4_096
    tokens = characters / LETTERS_OF_A_PIECE
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
    """nanoGPT's recipe for a CPU at the same parameters, tokens and steps (4 blocks, width 128, context 64, 12 rows):
    there validation loss 1.88 on tiny Shakespeare."""
    steps = 2_000
    return GPTSettings(
        token_type="characters",
        vocab_size=65,
        steps=steps,
        model=GPTModelSettings(width=128, depth=4, heads=4, ffn_width=512, max_length=64, dropout=0.0),
        training=replace(with_muon(12 * 64, steps), validate_every=250),
    )


def shakespeare_full(characters: int) -> GPTSettings:
    """nanoGPT's recipe for a GPU at its sizes (6 blocks, width 384, context 256, 64 rows, 5,000 steps): there validation
    loss 1.4697 on tiny Shakespeare."""
    small, steps = shakespeare_small(characters), 5_000
    return replace(
        small,
        steps=steps,
        model=replace(small.model, width=384, depth=6, heads=6, ffn_width=1_536, max_length=256, dropout=0.2),
        training=replace(with_muon(64 * 256, steps), validate_every=250),
    )


def shakespeare_hour(characters: int) -> GPTSettings:
    """For an hour on two cores on tiny Shakespeare: smaller than nanoGPT's full recipe, with as long a context: validation
    loss 1.43 there."""
    full = shakespeare_full(characters)
    return replace(
        full,
        steps=None,
        minutes=60,
        model=replace(full.model, width=256, heads=4, ffn_width=1_024, dropout=0.15),
        training=replace(full.training, batch_tokens=32 * 256, validate_every=100, average=5),
    )


def gpt1(characters: int) -> GPTSettings:
    """The sizes and the settings of "Improving Language Understanding by Generative Pre-Training": 117 M parameters."""
    steps = max(1_000, round(100 * characters / LETTERS_OF_A_PIECE / (64 * 512)))  # 100 epochs
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
    """Four voices in sixteenths, such as the JSB chorales: 128 sixteenths of context."""
    steps = 2_000
    return MusicSettings(
        steps=steps,
        model=GPTModelSettings(width=128, depth=4, heads=4, ffn_width=512, max_length=512, dropout=0.2),
        training=replace(with_muon(8 * 512, steps), validate_every=200),
    )


MUSIC_RECIPES: dict[str, Callable[[int], MusicSettings]] = {"automatic": chorales}


def more_text(characters: int, width: int) -> FineTuneTextSettings:
    """Three epochs with a rate that falls to zero, the lower the wider the model; of little text more, until about
    500,000 characters are seen, but never more than twenty."""
    epochs = epochs_until(500_000, characters)
    tokens = epochs * characters / LETTERS_OF_A_PIECE
    return FineTuneTextSettings(steps=None, epochs=epochs, training=going_on(tokens, width))


def more_music(frames: int, width: int) -> FineTuneMusicSettings:
    """Three epochs with a rate that falls to zero, the lower the wider the model; of little music more, until about
    50,000 sixteenths are heard, but never more than twenty."""
    epochs = epochs_until(50_000, frames)
    return FineTuneMusicSettings(steps=None, epochs=epochs, training=going_on(epochs * frames * 4, width))


def epochs_until(enough: int, amount: int) -> int:
    return min(20, max(3, round(enough / max(1, amount))))


def going_on(tokens: float, width: int) -> TrainingSettings:
    """For a run over so many tokens, with a model of that width."""
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
    """Three epochs, as in GPT-1 (section 4.1), with a rate that is the lower the wider the model; of few examples in small
    batches."""
    batch_tokens = min(2_048, max(256, 256 * round(examples / 1_250)))
    steps = 3 * examples * TOKENS_OF_AN_EXAMPLE / batch_tokens
    return FineTuneSettings(
        steps=None,
        training=TrainingSettings(
            batch_tokens=batch_tokens,
            learning_rate=round(min(0.004, 1_470 / width**2.5), 6),  # 0.0029 at 192, as tried; 0.00009 at 768
            warmup_steps=round(min(20, steps / 10)),
            adam_betas=(0.9, 0.999),
            adam_epsilon=1e-8,
            weight_decay=0.01,
            validate_every=200,
            average=1,
        ),
    )
