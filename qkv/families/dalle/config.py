"""The sizes of DALL-E and of its codebook, and the shapes of their weights."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from qkv.core.limits import check_tokens
from qkv.core.stack_config import StackConfig


@dataclass(frozen=True, kw_only=True)
class DalleConfig:
    OLD_NAMES: ClassVar = {"vocab": "vocab_size", "smoothing": "label_smoothing"}

    vocab_size: int  # of captions
    places: int  # positions of a caption, including its end
    codes: int
    grid: int  # codes on a side of an image
    pad: int  # the blank
    start: int
    end: int
    stack: StackConfig
    text_share: float = 1 / 8  # of the loss; the rest is the image's
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        if min(self.vocab_size, self.places, self.codes, self.grid) < 1:
            raise ValueError("vocabulary, places, codes and grid must each be at least 1")
        if not 0 <= self.text_share <= 1 or not 0 <= self.label_smoothing < 1:
            raise ValueError("text_share must be from 0 to 1, and label smoothing at least 0 and below 1")
        check_tokens(self.vocab_size, pad=self.pad, start=self.start, end=self.end)

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        tables = {
            "words.weight": self.vocab_size,
            "codes.weight": self.codes,
            "positions.table": 1 + self.places,
            "rows.table": self.grid,
            "columns.table": self.grid,
        }
        for name, rows in tables.items():
            yield name, (rows, self.stack.width)
        yield from self.stack.shapes("stack")

    @property
    def area(self) -> int:
        return self.grid**2


LARGEST_SIDE = 2**14  # pixels


MOST_CODES = 2**31


@dataclass(frozen=True, kw_only=True)
class CodebookConfig:
    OLD_NAMES: ClassVar = {"quantiser": "quantizer"}

    side: int  # of an image, in pixels
    channels: int
    patch: int  # pixels on a side of what one code represents
    width: int  # of the convolutions
    depth: int  # residual pairs of convolutions, in the encoder and in the decoder
    quantizer: Literal["gumbel", "lattice"]
    levels: tuple[int, ...]  # their product is the number of codes
    temperature: float = 1.0  # of the Gumbel noise

    def __post_init__(self) -> None:
        if min(self.side, self.channels, self.patch, self.width) < 1 or self.side % self.patch:
            raise ValueError(f"images of {self.side} pixels cannot be split into patches of {self.patch}")
        if not self.levels or min(self.levels) < 2:
            raise ValueError("every number of the lattice needs at least 2 levels")
        if self.side > LARGEST_SIDE or len(self.levels) > 31 or self.codes > MOST_CODES:
            raise ValueError(
                f"side must be at most {LARGEST_SIDE:,} pixels, and there can be at most {MOST_CODES:,} codes"
            )
        if self.depth < 0 or self.temperature <= 0:
            raise ValueError("depth must not be negative, and the temperature must be above 0")

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        patch, width, depth = self.channels * self.patch**2, self.width, self.depth
        lattice = self.quantizer == "lattice"
        yield from convolution_shapes("encoder.1", patch, width)
        yield from convolved_shapes("encoder", first=2, depth=depth, width=width)
        yield from convolution_shapes(
            f"encoder.{3 + depth}", width, len(self.levels) if lattice else self.codes, side=1
        )
        if not lattice:
            yield "choice.vectors", (self.codes, width)
        yield from convolution_shapes("decoder.0", len(self.levels) if lattice else width, width)
        yield from convolved_shapes("decoder", first=1, depth=depth, width=width)
        yield from convolution_shapes(f"decoder.{2 + depth}", width, patch)

    @property
    def codes(self) -> int:
        return math.prod(self.levels)

    @property
    def grid(self) -> int:
        """Codes on a side."""
        return self.side // self.patch


def convolved_shapes(
    name: str, *, first: int, depth: int, width: int
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for place in range(first, first + depth):
        for each in ("first", "second"):
            yield from convolution_shapes(f"{name}.{place}.{each}", width, width)


def convolution_shapes(
    name: str, inputs: int, outputs: int, side: int = 3
) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (outputs, inputs, side, side)
    yield f"{name}.bias", (outputs,)
