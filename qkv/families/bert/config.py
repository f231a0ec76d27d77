"""The sizes of BERT models and the shapes of their weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from qkv.core.limits import check_context, check_tokens
from qkv.core.stack_config import StackConfig, linear_shapes, norm_shapes


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    OLD_NAMES: ClassVar = {"vocab": "vocab_size", "context": "max_length"}

    vocab_size: int
    max_length: int  # positions
    pad: int
    segments: int  # texts in one input that have their own embedding
    stack: StackConfig

    def __post_init__(self) -> None:
        check_context(self.max_length, self.stack.width)
        check_tokens(self.vocab_size, pad=self.pad)
        if self.segments < 1:
            raise ValueError("segments must be at least 1")

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Shapes of the `Encoder`, which models call `encoder`."""
        width = self.stack.width
        tables = {
            "tokens.weight": self.vocab_size,
            "positions.table": self.max_length,
            "segments.weight": self.segments,
        }
        for name, rows in tables.items():
            yield f"encoder.{name}", (rows, width)
        yield from norm_shapes("encoder.norm", width)
        yield from self.stack.shapes("encoder.stack")


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """An encoder with the heads that it was trained with."""

    encoder: EncoderConfig
    pooler: bool = True  # one vector from the first position
    words: bool = True  # the head for masked words
    next_sentence: bool = True

    def __post_init__(self) -> None:
        if self.next_sentence and not self.pooler:
            raise ValueError("the next-sentence head needs the pooler")

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        width = self.encoder.stack.width
        yield from self.encoder.shapes()
        if self.pooler:
            yield from linear_shapes("pooler.linear", width, width)
        if self.words:
            yield from linear_shapes("words.transform", width, width)
            yield from norm_shapes("words.norm", width)
            yield "words.bias", (self.encoder.vocab_size,)
        if self.next_sentence:
            yield from linear_shapes("next_sentence", width, 2)


@dataclass(frozen=True, kw_only=True)
class BertClassifierConfig:
    encoder: EncoderConfig
    outputs: int  # one for each class, or 1 for a number
    numbers: bool = False

    def __post_init__(self) -> None:
        if self.outputs < 1 or (self.numbers and self.outputs != 1):
            raise ValueError("a classifier needs at least 1 output, and a regression model exactly 1")

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        width = self.encoder.stack.width
        yield from self.encoder.shapes()
        yield from linear_shapes("pooler.linear", width, width)
        yield from linear_shapes("labels", width, self.outputs)
