"""Settings for training and fine-tuning a language model. Importing this needs no torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from qkv.errors import Rule
from qkv.training.settings import (
    FLAT,
    BlockSettings,
    ContinueSettings,
    RunSettings,
    TuningSettings,
    share_below_one,
    size_from_number,
    size_rule,
)


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
            ("width", "divided by {heads} must be even with rotary positions", even),
            ("max_length", "must be at least 8", self.max_length >= 8),
        ]


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    OLD_NAMES: ClassVar = {"valid": "valid_size", "most_valid": "max_valid_characters"}
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    valid_size: str = "10%"
    """Text held out for validation if none is given: a number of characters, at most a tenth of the data, or a
    share such as 10%. Whole documents are held out, or the end of each if there are few."""
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
