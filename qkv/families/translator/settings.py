"""Settings for training and fine-tuning a translator. Importing this needs no torch."""

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
    """Transformer blocks, or LSTMs with attention to the source."""
    width: int
    """Width of the vector at each position (d_model)."""
    encoder_depth: int
    """Blocks or LSTMs in the encoder (N). With 0, the decoder reads source and target as one stream (T-D)."""
    decoder_depth: int
    """Blocks or LSTMs in the decoder (N)."""
    heads: int
    """Attention heads; the width is divided among them."""
    ffn_width: int
    """Width of the feed-forward layer (d_ff), or of the LSTM state."""
    dropout: float
    """Dropout rate."""
    attention_dropout: float = 0.0
    """Dropout rate of the attention weights."""
    norm: Literal["pre", "post"] = "post"
    """Layer norm before each sublayer (pre) or after it (post, as in the paper)."""
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"] = "relu"
    """Activation function of the feed-forward layer."""
    decoder_cell: Literal["attention", "ssru"] = "attention"
    """Self-attention in the decoder, or SSRU: a recurrent cell that makes each decoding step cheaper."""
    positions: Literal["interleaved", "halves", "learned", "rotary", "none"] = "interleaved"
    """Position encoding: sinusoids (interleaved or halves), learned vectors, rotary (RoPE), or none."""
    max_length: int = 1024
    """Maximum number of tokens in a sentence."""
    label_smoothing: float = 0.1
    """Label smoothing."""

    def rules(self) -> list[Rule]:
        recurrent, some_heads = self.architecture == "recurrent", max(1, self.heads)
        divided = "ffn_width" if recurrent else "width"
        sizes = (self.width, self.decoder_depth, self.heads, self.ffn_width)
        rules = [
            ("width, decoder_depth, heads, ffn_width", "must be at least 1", min(sizes) >= 1),
            (divided, "must be a multiple of {heads}", getattr(self, divided) % some_heads == 0),
            share_below_one("dropout", self.dropout),
            share_below_one("attention_dropout", self.attention_dropout),
            share_below_one("label_smoothing", self.label_smoothing),
            ("max_length", "must be at least 8", self.max_length >= 8),  # so that any single character fits
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
            ("decoder_cell", "needs an encoder", self.decoder_cell == "attention" or self.encoder_depth > 0),
            ("width", "divided by {heads} must be even with rotary positions", even),
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
    """Drop pairs if one side has more characters than this."""
    max_length_ratio: float = 4.0
    """Drop pairs if one side is more than this many times as long as the other."""
    valid_size: str = "1000"
    """Pairs held out for validation if none are given: a number, at most a tenth of the data, or a share such as 5%."""
    bpe_dropout: float = 0.0
    """Probability of skipping a BPE merge in training (BPE dropout, a regularization)."""
    languages: tuple[str, str] | None = None
    """Source and target language in the file names of a data folder, if they are not given."""
    variant: str = ""
    """Middle part of the file names of a data folder, such as lc.norm.tok in train.lc.norm.tok.en."""

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
    """sacrebleu's tokenizer for BLEU; none for text that is already tokenized."""
    lowercase: bool = False
    """Ignore case."""


@dataclass(frozen=True, kw_only=True)
class PairSettings(RunSettings):
    """Settings of all runs on sentence pairs."""

    data: Annotated[DataSettings, FLAT] = DataSettings()
    scoring: Annotated[ScoringSettings, FLAT] = ScoringSettings()

    def rules(self) -> list[Rule]:
        return [*super().rules(), *self.data.rules()]


@dataclass(frozen=True, kw_only=True)
class DistillationSettings:
    """Word-level distillation, an option of training. A vocabulary is not learned then: it is that of the teachers."""

    teacher_models: tuple[str, ...] = ()
    """Trained models of one vocabulary. The new model also learns the mean of their probabilities. Several are allowed."""
    distillation_weight: float = 0.5
    """Share of the teachers in the loss; the rest is the reference."""
    distillation_temperature: float = 1.0
    """Above 1, the teachers' unlikely words count for more."""

    def rules(self) -> list[Rule]:
        warm = 0 < self.distillation_temperature <= 100
        return [
            ("distillation_weight", "must be more than 0 and at most 1", 0 < self.distillation_weight <= 1),
            ("distillation_temperature", "must be more than 0 and at most 100", warm),
        ]


@dataclass(frozen=True, kw_only=True)
class TranslatorSettings(PairSettings):
    OLD_NAMES: ClassVar = {"vocabulary": "vocab_size"}

    vocab_size: int
    """Size of the joint vocabulary of both languages, in tokens."""
    model: Annotated[ModelSettings, FLAT]
    decoding: Annotated[DecodingSettings, FLAT] = DecodingSettings()
    distillation: Annotated[DistillationSettings, FLAT] = DistillationSettings()

    def rules(self) -> list[Rule]:
        groups = (self.model, self.decoding, self.distillation)
        return [*super().rules(), *(rule for group in groups for rule in group.rules())]


@dataclass(frozen=True, kw_only=True)
class FineTuneTranslatorSettings(PairSettings, SmoothedContinueSettings):
    """Sizes, vocabulary, beam size and length penalty are those of the model that is fine-tuned."""

    OLD_NAMES: ClassVar = {"language": "language_token", "smoothing": "label_smoothing"}

    language_token: str | None = None
    """Target language of the pairs, as a multilingual model names it, such as fra. By default the target language of the
    pairs, if the model has it. Not needed if each source starts with it (>>fra<<)."""


UNUSED_BY_LSTMS = frozenset(("attention_dropout", "norm", "activation", "decoder_cell", "positions"))
