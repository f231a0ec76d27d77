"""The sizes of translation models and the shapes of their weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from qkv.configs import from_dict, shorten_value
from qkv.core.limits import check_context, check_tokens
from qkv.core.stack_config import DecoderCell, StackConfig, counted, linear_shapes
from qkv.core.translation import TranslationConfig
from qkv.errors import QkvError


@dataclass(frozen=True, kw_only=True)
class OneStreamConfig:
    architecture: ClassVar[str] = "one-stream"
    OLD_NAMES: ClassVar = {"vocab": "vocab_size", "context": "max_length", "smoothing": "label_smoothing"}

    vocab_size: int
    max_length: int  # positions on either side
    pad: int
    start: int  # what the decoder reads first
    end: int
    positions: Literal["interleaved", "halves", "learned", "rotary", "none"]
    decoder: StackConfig
    label_smoothing: float = 0.0
    output_bias: bool = False  # added to the logits, as in Marian's models

    def __post_init__(self) -> None:
        if self.positions == "rotary" and any(stack.width // stack.heads % 2 for stack in self.stacks):
            raise ValueError("rotary positions need an even head width")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError("label smoothing must be at least 0 and below 1")
        check_context(self.max_length, self.decoder.width)
        check_tokens(self.vocab_size, pad=self.pad, start=self.start, end=self.end)

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield from self.embedding_shapes()
        yield "sides", (2, self.decoder.width)
        yield from self.decoder.shapes("decoder")

    def embedding_shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield "tokens.weight", (self.vocab_size, self.decoder.width)
        if self.positions == "learned":
            for side in ("source", "target"):
                yield f"{side}_positions.table", (self.max_length, self.decoder.width)
        if self.output_bias:
            yield "bias", (self.vocab_size,)

    def complete_source(self, ids: Sequence[int]) -> list[int]:
        """The tokens of a source as the model reads them: with its end token."""
        return [*ids, self.end]

    @property
    def stacks(self) -> tuple[StackConfig, ...]:
        return (self.decoder,)

    @property
    def cross_attention_shape(self) -> tuple[int, int]:
        return self.decoder.depth, self.decoder.heads

    def facts(self) -> dict[str, str]:
        return {"decoder": self.decoder.sentence(), "positions": self.positions}


@dataclass(frozen=True, kw_only=True)
class TranslatorConfig(OneStreamConfig):
    architecture: ClassVar[str] = "transformer"

    encoder: StackConfig
    decoder_cell: DecoderCell = "attention"  # or "ssru", as in Marian's small models
    source_vocab_size: int | None = (
        None  # sources have tokens and embeddings of their own; pad and end have equal ids
    )
    tied_output: bool = True  # the output layer is the embeddings of the target
    source_ends: bool = True  # the encoder reads an end token

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoder.width != self.decoder.width:
            raise ValueError(
                f"encoder width {self.encoder.width} must equal decoder width {self.decoder.width}"
            )
        if self.source_vocab_size is not None:
            check_tokens(self.source_vocab_size, pad=self.pad, end=self.end)

    def complete_source(self, ids: Sequence[int]) -> list[int]:
        """With its end token, if the model reads one; a source without any token is its end token."""
        return [*ids, self.end] if self.source_ends or not ids else list(ids)

    @property
    def source_size(self) -> int:
        """The tokens of sources."""
        return self.vocab_size if self.source_vocab_size is None else self.source_vocab_size

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield from self.embedding_shapes()
        if self.source_vocab_size is not None:
            yield "source_tokens.weight", (self.source_vocab_size, self.encoder.width)
        if not self.tied_output:
            yield "output_tokens.weight", (self.vocab_size, self.decoder.width)
        yield from self.encoder.shapes("encoder")
        yield from self.decoder.shapes("decoder", cross=True, cell=self.decoder_cell)

    @property
    def stacks(self) -> tuple[StackConfig, ...]:
        return self.encoder, self.decoder

    def facts(self) -> dict[str, str]:
        facts = {"encoder": self.encoder.sentence(), **super().facts()}
        if self.decoder_cell == "ssru":
            facts["decoder"] += ", SSRU instead of self-attention"
        return facts


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of the model, described like a stack of blocks, for code that shows both kinds of model."""

    depth: int
    width: int
    heads: int
    hidden: int
    norm: str = "none"
    activation: str = "tanh"


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    architecture: ClassVar[str] = "recurrent"
    OLD_NAMES: ClassVar = {"vocab": "vocab_size", "context": "max_length", "smoothing": "label_smoothing"}

    vocab_size: int
    max_length: int  # tokens on either side
    pad: int
    start: int
    end: int
    width: int  # of the embeddings
    hidden: int  # width of LSTM states; in the encoder, half of it for each direction
    encoder_depth: int
    decoder_depth: int
    heads: int  # of the attention; the original paper has one
    dropout: float
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        if min(self.width, self.hidden, self.encoder_depth, self.decoder_depth, self.heads) < 1:
            raise ValueError("width, hidden, depths and heads must each be at least 1")
        if self.hidden % 2:
            raise ValueError(f"hidden {self.hidden} must be even: the encoder's two directions share it")
        if self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} must be a multiple of heads {self.heads}")
        if not 0 <= self.dropout < 1:
            raise ValueError("dropout must be at least 0 and below 1")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError("label smoothing must be at least 0 and below 1")
        check_context(self.max_length, self.width)
        check_tokens(self.vocab_size, pad=self.pad, start=self.start, end=self.end)

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        width, hidden = self.width, self.hidden
        yield "tokens.weight", (self.vocab_size, width)
        for depth in range(self.encoder_depth):
            for direction in ("onward", "back"):
                name = f"encoder.{depth}.{direction}"
                yield from lstm_shapes(name, hidden if depth else width, hidden // 2)
        yield from linear_shapes("first_states", hidden, self.decoder_depth * hidden)
        for depth in range(self.decoder_depth):
            yield from lstm_shapes(f"decoder.{depth}", hidden if depth else width, hidden)
        for each in ("query", "key", "value", "output"):
            yield from linear_shapes(f"cross_attention.{each}", hidden, hidden)
        yield from linear_shapes("combine", 2 * hidden, hidden)
        yield from linear_shapes("to_words", hidden, width)

    def complete_source(self, ids: Sequence[int]) -> list[int]:
        """The tokens of a source as the model reads them: with its end token."""
        return [*ids, self.end]

    @property
    def cross_attention_shape(self) -> tuple[int, int]:
        return 1, self.heads

    @property
    def encoder(self) -> Side:
        """The encoder has no attention."""
        return Side(depth=self.encoder_depth, width=self.width, heads=0, hidden=self.hidden)

    @property
    def decoder(self) -> Side:
        """Only the first LSTM has attention."""
        return Side(depth=1, width=self.hidden, heads=self.heads, hidden=self.hidden)

    def facts(self) -> dict[str, str]:
        return {
            "encoder": f"{counted(self.encoder_depth, 'LSTM')} in both directions, hidden {self.hidden}, width {self.width}",
            "decoder": f"{counted(self.decoder_depth, 'LSTM')}, hidden {self.hidden}, attention with {counted(self.heads, 'head')}",
        }


def lstm_shapes(name: str, width: int, hidden: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight_ih_l0", (4 * hidden, width)
    yield f"{name}.weight_hh_l0", (4 * hidden, hidden)
    yield f"{name}.bias_ih_l0", (4 * hidden,)
    yield f"{name}.bias_hh_l0", (4 * hidden,)


CONFIGS: dict[str, type[Any]] = {
    each.architecture: each for each in (TranslatorConfig, OneStreamConfig, RecurrentConfig)
}


def config_from(architecture: Any, values: Any, where: str) -> TranslationConfig:
    """The config that a file contains."""
    if str(architecture) not in CONFIGS:
        raise QkvError(
            f"{where}: unknown architecture {shorten_value(architecture)}. This version of qkv has {', '.join(CONFIGS)}."
        )
    config: TranslationConfig = from_dict(CONFIGS[architecture], values, where)
    return config
