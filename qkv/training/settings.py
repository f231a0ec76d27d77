"""What a person may choose about a training run. Importing this needs no torch."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from qkv.errors import UserError

Precision = Literal["auto", "float32", "bf16", "int16"]


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    kind: Annotated[Literal["transformer", "recurrent"], tyro.conf.arg(aliases=["--model"])] = "transformer"
    """What it is made of: blocks of attention, or LSTMs with attention on the source between them."""
    width: int
    """Width of every position's vector (d_model)."""
    encoder_depth: int
    """Blocks in the encoder (N), or its LSTMs; 0 for none: then the decoder reads source and target as one stream (T-D)."""
    decoder_depth: int
    """Blocks in the decoder (N), or its LSTMs."""
    heads: int
    """Attention heads; the width is divided among them."""
    hidden: int
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
    context: int = 1024
    """Most pieces that a sentence may have."""
    smoothing: float = 0.1
    """Label smoothing."""


@dataclass(frozen=True, kw_only=True)
class BlockSettings:
    """Of a model that is one stack of blocks."""

    depth: int
    """Blocks (N)."""
    width: int
    """Width of every position's vector (d_model)."""
    heads: int
    """Attention heads; the width is divided among them."""
    hidden: int
    """Width inside the feed-forward layer (d_ff)."""
    dropout: float
    """Share of values dropped in training."""
    attention_dropout: float = 0.0
    """Share of attention weights dropped in training."""
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"] = "gelu"
    """Inside the feed-forward layer."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    batch_tokens: int
    """Pieces in a step, padding included, on the longer of the two sides."""
    rate: float
    """The learning rate after the warm-up, before the schedule lowers it."""
    warmup: int
    """Steps in which the rate rises."""
    optimiser: Literal["adamw", "muon"] = "adamw"
    """AdamW for all weights, or Muon for the matrices of linear layers: fewer steps, each a little longer."""
    schedule: Literal["linear", "inverse-root", "constant"] = "linear"
    """After the warm-up: down to zero at the end, with 1/√step as in the paper, or level."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Adam's two decay rates."""
    epsilon: float = 1e-9
    """Adam's ε."""
    weight_decay: float = 0.0
    """The matrices of linear layers shrink by so much, times the learning rate, at every step; embeddings do not."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 for no limit."""
    validate_every: int
    """Steps between two looks at the validation part, each of which keeps a snapshot."""
    average: int = 5
    """How many of the last snapshots are averaged at the end."""
    keep: Literal["best", "last"] = "best"
    """The weights with the lowest loss on the validation part, or their average; or the last ones, where it is the
    training data that shall be remembered."""
    patience: int = 0
    """Stop after so many validations without improvement; 0 for never."""
    processes: int = 0
    """Processes that share every batch on this machine; 0 for as many as pay."""
    accumulate: int = 0
    """Parts in which a process computes its share of a batch, one after another: less memory for the same step.
    0 for one part on a GPU, and on a CPU for so many that a part fits its caches."""
    precision: Precision = "auto"
    """Of the products in the model; auto is bf16 or, on a CPU, int16 where that pays. Weights, sums and updates are
    float32 always."""
    sharded: bool = False
    """Under torchrun: divide weights and optimiser state among the processes instead of copying them."""
    log_every: int = 25
    """Steps between two lines of log.jsonl."""
    milestones: bool = False
    """Keep the weights of steps 8, 16, 32, 64 … too: `qkv explore` shows with them how the model came to be."""


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    longest: int = 1000
    """Pairs with a side of more characters than this are dropped."""
    ratio: float = 4.0
    """Pairs with one side more than so many times as long as the other are dropped."""
    valid: int = 1000
    """Pairs held out for validation where none are given (a tenth of the data at most)."""
    subword_dropout: float = 0.0
    """How often a merge of the tokenizer is left out in training, so that words are cut in many ways."""
    languages: tuple[str, str] | None = None
    """Source and target in the names of the files of --data, where --source-language does not say."""
    variant: str = ""
    """What stands between part and language in the names of the files of --data: lc.norm.tok in train.lc.norm.tok.en."""


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    beam: int = 5
    """Hypotheses kept at every step; 1 is greedy."""
    length_penalty: float = 1.0
    """Exponent of the length penalty; 0 for none."""


@dataclass(frozen=True, kw_only=True)
class ScoringSettings:
    tokenize: str = "13a"
    """sacrebleu's tokenizer for BLEU; none for text that is tokenised already."""
    lowercase: bool = False
    """Ignore case."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What every kind of run has; each kind adds its own."""

    steps: int | None
    """Steps of training."""
    minutes: float | None = None
    """Train for so many minutes instead, with the learning rate planned for that end."""
    seed: int = 1
    """The same seed gives the same run."""
    training: TrainingSettings


@dataclass(frozen=True, kw_only=True)
class TuningSettings(RunSettings):
    """What every run has that goes on from a model which was trained before."""

    epochs: float = 3
    """How often every example is seen, where neither --steps nor --minutes say."""


@dataclass(frozen=True, kw_only=True)
class GoingOnSettings(TuningSettings):
    """What a run has that goes on with the task of the model: what acts in training alone may be another."""

    dropout: float | None = None
    """Share of values dropped in training; that of the model where it is not given."""


@dataclass(frozen=True, kw_only=True)
class SmoothedGoingOnSettings(GoingOnSettings):
    """The same of a model whose labels are smoothed."""

    smoothing: float | None = None
    """Label smoothing; that of the model where it is not given."""


@dataclass(frozen=True, kw_only=True)
class PairSettings(RunSettings):
    """What every run on sentence pairs has."""

    data: DataSettings = DataSettings()
    scoring: ScoringSettings = ScoringSettings()


@dataclass(frozen=True, kw_only=True)
class TranslatorSettings(PairSettings):
    vocabulary: int
    """Pieces in the joint vocabulary of both languages."""
    model: ModelSettings
    decoding: DecodingSettings = DecodingSettings()


@dataclass(frozen=True, kw_only=True)
class FineTuneTranslatorSettings(PairSettings, SmoothedGoingOnSettings):
    """Sizes and vocabulary are those of the model that is fine-tuned, and so are its beam and its length penalty."""

    language: str | None = None
    """Target language of the pairs, for a model of several whose lines do not begin with theirs, such as >>fra<<."""


# What means nothing to a kind of model is refused where it is given.
WITHOUT_MEANING = {
    "transformer": frozenset[str](),
    "recurrent": frozenset(
        ("--model.attention-dropout", "--model.norm", "--model.activation", "--model.positions")
    ),
}


def check_settings(settings: TranslatorSettings) -> None:
    model, decoding = settings.model, settings.decoding
    divided = model.hidden if model.kind == "recurrent" else model.width
    refuse_broken(
        rules_of_run(settings)
        | {
            "--model.width, decoder depth, heads and hidden must be at least 1": min(
                model.width, model.decoder_depth, model.heads, model.hidden
            )
            >= 1,
            f"--model.{'hidden' if model.kind == 'recurrent' else 'width'} must be a multiple of --model.heads": (
                model.heads < 1 or divided % model.heads == 0
            ),
            "--model.hidden must be even with --model recurrent, for two directions share it": (
                model.kind != "recurrent" or model.hidden % 2 == 0
            ),
            "--model.encoder-depth must not be negative": model.encoder_depth >= 0,
            "--model.encoder-depth must be at least 1 with --model recurrent": (
                model.kind != "recurrent" or model.encoder_depth >= 1
            ),
            "--model.width / --model.heads must be even with rotary positions": model.heads < 1
            or (model.kind, model.positions) != ("transformer", "rotary")
            or model.width // model.heads % 2 == 0,
            "--model.dropout must be at least 0 and below 1": 0 <= model.dropout < 1,
            "--model.attention-dropout must be at least 0 and below 1": 0 <= model.attention_dropout < 1,
            "--model.smoothing must be at least 0 and below 1": 0 <= model.smoothing < 1,
            "--model.context must be at least 8": model.context >= 8,  # any one character fits
            "--data.subword-dropout must be at least 0 and below 1": 0 <= settings.data.subword_dropout < 1,
            "--decoding.beam must be from 1 to 1,000": 1 <= decoding.beam <= 1_000,
            "--decoding.length-penalty must be from 0 to 50": 0 <= decoding.length_penalty <= 50,
        }
    )


def check_fine_tuning(settings: FineTuneTranslatorSettings) -> None:
    refuse_broken(
        rules_of_smoothed_going_on(settings)
        | {
            "--data.subword-dropout must be at least 0 and below 1": 0 <= settings.data.subword_dropout < 1,
        }
    )


def rules_of_run(settings: RunSettings) -> dict[str, bool]:
    """What holds for every kind of run, as sentences, and whether it does."""
    training = settings.training
    return {
        "--steps must be at least 1": settings.steps is None or settings.steps >= 1,
        "--minutes must be more than 0": settings.minutes is None or settings.minutes > 0,
        "--training.batch-tokens must be at least 1": training.batch_tokens >= 1,
        "--training.rate must be more than 0": training.rate > 0,
        "--training.warmup must not be negative": training.warmup >= 0,
        "--training.betas must be at least 0 and below 1": all(0 <= beta < 1 for beta in training.betas),
        "--training.epsilon must be more than 0": training.epsilon > 0,
        "--training.weight-decay must not be negative": training.weight_decay >= 0,
        "--training.clip must not be negative": training.clip >= 0,
        "--training.validate-every must be at least 1": training.validate_every >= 1,
        "--training.average must be at least 1": training.average >= 1,
        "--training.patience must not be negative": training.patience >= 0,
        "--training.processes must not be negative": training.processes >= 0,
        "--training.accumulate must not be negative": training.accumulate >= 0,
        "--training.log-every must be at least 1": training.log_every >= 1,
    }


def rules_of_tuning(settings: TuningSettings) -> dict[str, bool]:
    return rules_of_run(settings) | {
        "--epochs must be more than 0, and a number": 0 < settings.epochs < math.inf
    }


def rules_of_going_on(settings: GoingOnSettings) -> dict[str, bool]:
    return rules_of_tuning(settings) | {
        "--dropout must be at least 0 and below 1": 0 <= (settings.dropout or 0) < 1
    }


def rules_of_smoothed_going_on(settings: SmoothedGoingOnSettings) -> dict[str, bool]:
    return rules_of_going_on(settings) | {
        "--smoothing must be at least 0 and below 1": 0 <= (settings.smoothing or 0) < 1
    }


def rules_of_blocks(model: BlockSettings) -> dict[str, bool]:
    sizes = (model.width, model.depth, model.heads, model.hidden)
    return {
        "--model.width, depth, heads and hidden must be at least 1": min(sizes) >= 1,
        "--model.width must be a multiple of --model.heads": model.heads < 1
        or model.width % model.heads == 0,
        "--model.dropout must be at least 0 and below 1": 0 <= model.dropout < 1,
        "--model.attention-dropout must be at least 0 and below 1": 0 <= model.attention_dropout < 1,
    }


def refuse_broken(rules: dict[str, bool]) -> None:
    """Refuse at once what would fail, or do nothing useful, after minutes of work."""
    broken = [rule for rule, holds in rules.items() if not holds]
    if broken:
        raise UserError(f"{'; '.join(broken)}.")
