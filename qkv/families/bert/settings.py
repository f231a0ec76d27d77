"""Settings for training and fine-tuning BERT. Importing this needs no torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from qkv.errors import Rule
from qkv.training.settings import (
    FLAT,
    BlockSettings,
    RunSettings,
    TuningSettings,
    share_below_one,
    size_from_number,
    size_rule,
)


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
    """Text held out for validation if none is given: a number of characters, at most a tenth of the data, or a
    share such as 5%. Whole documents are held out, or the end of each if there are few."""

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
