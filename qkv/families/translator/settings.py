"""Settings of a translator's training, and of fine-tuning one. Importing this needs no torch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from qkv.errors import Rule
from qkv.training.settings import (
    FLAT,
    RunSettings,
    SmoothedContinueSettings,
    share_below_one,
    size_from_number,
    size_rule,
)


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    OLD_NAMES: ClassVar = {
        "kind": "architecture",
        "hidden": "ffn_width",
        "context": "max_length",
        "smoothing": "label_smoothing",
    }

    architecture: Literal["transformer", "recurrent"] = "transformer"
    """What it is made of: Transformer blocks, or LSTMs with attention to the source."""
    width: int
    """Width of every position's vector (d_model)."""
    encoder_depth: int
    """Blocks in the encoder (N), or its LSTMs; 0 for none: then the decoder reads source and target as one stream (T-D)."""
    decoder_depth: int
    """Blocks in the decoder (N), or its LSTMs."""
    heads: int
    """Attention heads; the width is divided among them."""
    ffn_width: int
    """Width inside the feed-forward layer (d_ff), or of what an LSTM keeps in mind."""
    dropout: float
    """Share of values dropped in training."""
    attention_dropout: float = 0.0
    """Share of attention weights dropped in training."""
    norm: Literal["pre", "post"] = "post"
    """Where the layer norm stands: before each sublayer, or after it as in the paper."""
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"] = "relu"
    """Inside the feed-forward layer."""
    positions: Literal["interleaved", "halves", "learned", "rotary", "none"] = "interleaved"
    """How positions are told apart: sinusoids in one of two layouts, learned vectors, turned queries and keys, or not
    at all."""
    max_length: int = 1024
    """Most pieces that a sentence may have."""
    label_smoothing: float = 0.1
    """Label smoothing."""

    def rules(self) -> list[Rule]:
        recurrent, some_heads = self.architecture == "recurrent", max(1, self.heads)
        divided = "ffn_width" if recurrent else "width"
        sizes = (self.width, self.decoder_depth, self.heads, self.ffn_width)
        rules = [
            ("width, decoder_depth, heads, ffn_width", "must be at least 1", min(sizes) >= 1),
            (divided, "must be a multiple of heads", getattr(self, divided) % some_heads == 0),
            share_below_one("dropout", self.dropout),
            share_below_one("attention_dropout", self.attention_dropout),
            share_below_one("label_smoothing", self.label_smoothing),
            ("max_length", "must be at least 8", self.max_length >= 8),  # any one character fits
        ]
        if recurrent:
            return [
                *rules,
                ("ffn_width", "must be even for LSTMs: two directions share it", self.ffn_width % 2 == 0),
                ("encoder_depth", "must be at least 1 for LSTMs", self.encoder_depth >= 1),
            ]
        even = self.positions != "rotary" or self.width // some_heads % 2 == 0
        return [
            *rules,
            ("encoder_depth", "must not be negative", self.encoder_depth >= 0),
            ("width", "divided by heads must be even with rotary positions", even),
        ]


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    OLD_NAMES: ClassVar = {
        "longest": "max_characters",
        "ratio": "max_length_ratio",
        "valid": "valid_size",
        "subword_dropout": "bpe_dropout",
    }
    OLD_VALUES: ClassVar = {"valid_size": size_from_number}

    max_characters: int = 1000
    """Pairs with a side of more characters than this are dropped."""
    max_length_ratio: float = 4.0
    """Pairs with one side more than so many times as long as the other are dropped."""
    valid_size: str = "1000"
    """Pairs held out for validation if none are given: a number, at most a tenth of the data, or a share such as 5%."""
    bpe_dropout: float = 0.0
    """How often a merge of the tokenizer is left out in training, so that words are cut in many ways."""
    languages: tuple[str, str] | None = None
    """Source and target in the names of the files of --data, where --source-language does not say."""
    variant: str = ""
    """What stands between part and language in the names of the files of --data: lc.norm.tok in train.lc.norm.tok.en."""

    def rules(self) -> list[Rule]:
        return [share_below_one("bpe_dropout", self.bpe_dropout), size_rule(self.valid_size)]


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    OLD_NAMES: ClassVar = {"beam": "beam_size"}

    beam_size: int = 5
    """Hypotheses kept at every step; 1 is greedy."""
    length_penalty: float = 1.0
    """Exponent of the length penalty; 0 for none."""

    def rules(self) -> list[Rule]:
        return [
            ("beam_size", "must be from 1 to 1,000", 1 <= self.beam_size <= 1_000),
            ("length_penalty", "must be from 0 to 50", 0 <= self.length_penalty <= 50),
        ]


@dataclass(frozen=True, kw_only=True)
class ScoringSettings:
    tokenize: str = "13a"
    """sacrebleu's tokenizer for BLEU; none for text that is tokenised already."""
    lowercase: bool = False
    """Ignore case."""


@dataclass(frozen=True, kw_only=True)
class PairSettings(RunSettings):
    """What every run on sentence pairs has."""

    data: Annotated[DataSettings, FLAT] = DataSettings()
    scoring: Annotated[ScoringSettings, FLAT] = ScoringSettings()

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.data.rules()]


@dataclass(frozen=True, kw_only=True)
class TranslatorSettings(PairSettings):
    OLD_NAMES: ClassVar = {"vocabulary": "vocab_size"}

    vocab_size: int
    """Pieces in the joint vocabulary of both languages."""
    model: Annotated[ModelSettings, FLAT]
    decoding: Annotated[DecodingSettings, FLAT] = DecodingSettings()

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.model.rules(), *self.decoding.rules()]


@dataclass(frozen=True, kw_only=True)
class FineTuneTranslatorSettings(PairSettings, SmoothedContinueSettings):
    """Sizes and vocabulary are those of the model that is fine-tuned, and so are its beam and its length penalty."""

    OLD_NAMES: ClassVar = {"language": "language_token", "smoothing": "label_smoothing"}

    language_token: str | None = None
    """Target language of the pairs as a multilingual model names it, such as fra, unless each source begins with it
    (>>fra<<)."""


UNUSED_BY_LSTMS = frozenset(("attention_dropout", "norm", "activation", "positions"))
