"""The sizes of a stack of blocks and the shapes of its weights. Needs no torch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

DecoderCell = Literal["attention", "ssru"]
"""What a decoder's blocks have in place of memory: causal self-attention, or a recurrent cell (qkv.core.cell)."""


@dataclass(frozen=True, kw_only=True)
class StackConfig:
    OLD_NAMES: ClassVar = {"hidden": "ffn_width"}

    depth: int
    width: int  # d_model
    heads: int
    ffn_width: int  # d_ff
    norm: Literal["pre", "post"]
    activation: Literal["relu", "gelu", "gelu_tanh", "swish"]
    dropout: float
    attention_dropout: float = 0.0
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        if min(self.depth, self.width, self.heads, self.ffn_width) < 1:
            raise ValueError("depth, width, heads and ffn_width must each be at least 1")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if not (0 <= self.dropout < 1 and 0 <= self.attention_dropout < 1):
            raise ValueError("dropout must be at least 0 and below 1")
        if not 0 <= self.norm_eps <= 1:
            raise ValueError("norm_eps must be from 0 to 1")

    def shapes(
        self, name: str, *, cross: bool = False, cell: DecoderCell = "attention"
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Shapes of the weights of a `Stack` of this name, to compare a file with a config before building the model."""
        width, hidden = self.width, self.ffn_width
        for depth in range(self.depth):
            block = f"{name}.blocks.{depth}"
            if cell == "attention":
                yield from attention_shapes(f"{block}.attention", width)
            else:
                yield from cell_shapes(f"{block}.cell", width)
            if cross:
                yield from attention_shapes(f"{block}.cross_attention", width)
            yield from linear_shapes(f"{block}.feed_forward.sublayer.expand", width, hidden)
            yield from linear_shapes(f"{block}.feed_forward.sublayer.contract", hidden, width)
            yield from norm_shapes(f"{block}.feed_forward.norm", width)
        if self.norm == "pre":
            yield from norm_shapes(f"{name}.norm", width)

    def sentence(self) -> str:
        return (
            f"{counted(self.depth, 'block')}, width {self.width}, {counted(self.heads, 'head')}, FFN width {self.ffn_width}, "
            f"{self.norm}-norm, {self.activation}"
        )


def counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def attention_shapes(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for each in ("query", "key", "value", "output"):
        yield from linear_shapes(f"{name}.sublayer.{each}", width, width)
    yield from norm_shapes(f"{name}.norm", width)


def cell_shapes(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.sublayer.input.weight", (width, width)
    yield from linear_shapes(f"{name}.sublayer.forget", width, width)
    yield from norm_shapes(f"{name}.norm", width)


def linear_shapes(name: str, inputs: int, outputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def norm_shapes(name: str, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)
