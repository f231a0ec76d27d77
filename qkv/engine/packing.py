"""Lays out the weights of a model for the compiled loops, once when it is opened."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qkv.checkpoint.arrays import StoredArrays
from qkv.core.stack_config import DecoderCell, StackConfig
from qkv.engine.image import PackedModel
from qkv.engine.library import (
    AttentionStruct,
    BlockStruct,
    LinearStruct,
    ModelStruct,
    NormStruct,
    StackStruct,
)
from qkv.engine.memory import Memory
from qkv.engine.positions import rotations, sinusoid
from qkv.engine.rounding import UNIT, Floats, heads_apart, padded, rounded, up_to_unit, zero_padded
from qkv.errors import QkvError
from qkv.families.bert.config import EncoderConfig
from qkv.families.gpt.config import GPTConfig
from qkv.families.translator.config import TranslatorConfig

Weights = Mapping[str, NDArray[Any]]

ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "swish")  # numbered as in kernel.cpp
CHUNK = (
    64 * UNIT
)  # outputs that are rounded at once: rounding the whole output layer would need its size three times


class Wanted(NamedTuple):
    """A packed array: its name, unique in the model, and its form."""

    name: str
    shape: tuple[int, ...]
    dtype: DTypeLike


class Store(Protocol):
    """Where packed arrays are kept."""

    def arrays(self, wanted: Sequence[Wanted], fill: Callable[..., None]) -> list[NDArray[Any]]:
        """The arrays of these names. A store that does not have them creates them with zeros and calls `fill` with them."""
        ...

    def may_stay(self, name: str, array: NDArray[Any]) -> bool:
        """Check an array that needs no packing. False if it cannot stay where it is."""
        ...


class MemoryStore:
    """Packs the weights into this process's memory."""

    def __init__(self) -> None:
        self.memory = Memory()

    def arrays(self, wanted: Sequence[Wanted], fill: Callable[..., None]) -> list[NDArray[Any]]:
        found = [self.memory.empty(each.shape, each.dtype) for each in wanted]
        fill(*found)
        return found

    def may_stay(self, name: str, array: NDArray[Any]) -> bool:
        for start in range(0, len(array), CHUNK):
            check_finite(array[start : start + CHUNK])
        return True


class Packed(PackedModel):
    """A model that is being packed."""

    def __init__(self, weights: Weights, store: Store, *, int8: bool):
        super().__init__(ModelStruct(rounded=int8), [])
        self.weights, self.store, self.int8 = weights, store, int8
        self.release = weights.release if isinstance(weights, StoredArrays) else nothing

    @classmethod
    def translator(cls, config: TranslatorConfig, weights: Weights, store: Store, *, int8: bool) -> "Packed":
        packed = cls(weights, store, int8=int8)
        bias = "bias" if config.output_bias else None
        packed.output("tokens.weight" if config.tied_output else "output_tokens.weight", bias)
        packed.struct.token_scale = config.encoder.width**0.5
        tables = dict.fromkeys(("source", "target"), packed.table("tokens.weight"))
        if config.source_vocab_size is not None:
            tables["source"] = packed.table("source_tokens.weight")
        waves = None  # both sides have the same width
        if config.positions == "interleaved" or config.positions == "halves":  # mypy narrows these
            table = sinusoid(config.max_length, config.encoder.width, config.positions)
            waves = packed.constant("waves", columns_padded(table))
        for name, side, stack in (
            ("encoder", "source", config.encoder),
            ("decoder", "target", config.decoder),
        ):
            cell = config.decoder_cell if name == "decoder" else "attention"
            struct = packed.stack(name, stack, cross=name == "decoder", cell=cell)
            struct.tokens = tables[side]
            match config.positions:
                case "learned":
                    struct.positions = packed.table(f"{side}_positions.table")
                case "rotary":
                    struct.rotation = packed.rotation(name, config.max_length, stack)
                case _:
                    struct.positions = waves
            setattr(packed.struct, name, struct)
        return packed.complete()

    @classmethod
    def gpt(
        cls, config: GPTConfig, weights: Weights, store: Store, *, int8: bool, prefix: str = ""
    ) -> "Packed":
        packed = cls(weights, store, int8=int8)
        packed.output(f"{prefix}tokens.weight", None)
        packed.struct.token_scale, tokens = 1.0, packed.table(f"{prefix}tokens.weight")
        struct = packed.stack(f"{prefix}stack", config.stack)
        struct.tokens = tokens
        if config.positions == "learned":
            struct.positions = packed.table(f"{prefix}positions.table")
        else:
            struct.rotation = packed.rotation(f"{prefix}stack", config.max_length, config.stack)
        packed.struct.decoder = struct
        return packed.complete()

    @classmethod
    def encoder(
        cls,
        config: EncoderConfig,
        weights: Weights,
        store: Store,
        *,
        int8: bool,
        prefix: str = "encoder.",
    ) -> "Packed":
        packed = cls(weights, store, int8=int8)
        struct = packed.stack(f"{prefix}stack", config.stack)
        struct.positions = packed.table(f"{prefix}positions.table")
        struct.tokens = packed.table(f"{prefix}tokens.weight")
        packed.struct.encoder = struct
        packed.struct.segments = packed.table(f"{prefix}segments.weight")
        packed.struct.first, packed.struct.token_scale = packed.norm(f"{prefix}norm"), 1.0
        return packed.complete()

    def complete(self) -> "Packed":
        """Forget what only packing needs; an engine lives longer than the weights it was packed from."""
        self.weights, self.store = {}, MemoryStore()
        return self

    # The largest part comes first, while the memory for the others is not in use.
    def output(self, name: str, bias: str | None) -> None:
        """The output layer: usually the embeddings, but unscaled."""
        tokens = self.weights[name]
        self.struct.vocab = len(tokens)
        biases = None if bias is None else lambda: self.weights[bias]
        self.struct.output = self.linear("output", tokens.shape, lambda: tokens, biases)

    def stack(
        self, name: str, config: StackConfig, *, cross: bool = False, cell: DecoderCell = "attention"
    ) -> StackStruct:
        heads = config.heads
        names = [f"{name}.blocks.{depth}" for depth in range(config.depth)]
        each = (self.block(block, heads, cross=cross, cell=cell) for block in names)
        blocks = (BlockStruct * config.depth)(*each)
        self.kept.append(blocks)
        head = config.width // heads
        return StackStruct(
            blocks=ctypes.cast(blocks, ctypes.POINTER(BlockStruct)),
            last=self.norm(f"{name}.norm") if config.norm == "pre" else NormStruct(),
            depth=config.depth,
            width=config.width,
            heads=heads,
            head=up_to_unit(head),
            turned=head,
            pre=config.norm == "pre",
            activation=ACTIVATIONS.index(config.activation),
            cross=cross,
            cell=cell != "attention",
            epsilon=config.norm_eps,
        )

    def block(self, name: str, heads: int, *, cross: bool, cell: DecoderCell) -> BlockStruct:
        feed = f"{name}.feed_forward"
        return BlockStruct(
            own=self.attention(f"{name}.attention", heads, looks_at_itself=True)
            if cell == "attention"
            else self.cell(f"{name}.cell"),
            cross=self.attention(f"{name}.cross_attention", heads, looks_at_itself=False)
            if cross
            else AttentionStruct(),
            norm=self.norm(f"{feed}.norm"),
            expand=self.layer(f"{feed}.sublayer.expand"),
            contract=self.layer(f"{feed}.sublayer.contract"),
        )

    def attention(self, name: str, heads: int, *, looks_at_itself: bool) -> AttentionStruct:
        parts = ("query", "key", "value")
        first, second = (parts, ()) if looks_at_itself else (parts[:1], parts[1:])
        output = f"{name}.sublayer.output"
        width, inner = len(self.weights[f"{output}.bias"]), self.inner(output, heads)
        return AttentionStruct(
            norm=self.norm(f"{name}.norm"),
            project=self.projection(f"{name}.project", name, first, heads),
            memory=self.projection(f"{name}.memory", name, second, heads) if second else LinearStruct(),
            output=self.linear(
                output,
                (width, inner),
                lambda: heads_apart(self.float32(f"{output}.weight"), heads),
                lambda: self.weights[f"{output}.bias"],
            ),
        )

    def cell(self, name: str) -> AttentionStruct:
        """A recurrent cell: its input and its forget gate, one behind the other."""
        gate = self.weights[f"{name}.sublayer.forget.bias"]
        width, wide = len(gate), up_to_unit(len(gate))

        def weight() -> Floats:
            parts = (self.float32(f"{name}.sublayer.{each}.weight") for each in ("input", "forget"))
            return np.concatenate([zero_padded(part.T, (0, wide - width)).T for part in parts])

        def bias() -> Floats:
            return np.concatenate([np.zeros(wide, np.float32), np.asarray(gate, np.float32)])

        project = self.linear(f"{name}.project", (2 * wide, width), weight, bias)
        return AttentionStruct(norm=self.norm(f"{name}.norm"), project=project)

    def inner(self, output: str, heads: int) -> int:
        """The width of all heads together, each padded."""
        return heads * up_to_unit(self.weights[f"{output}.weight"].shape[1] // heads)

    def projection(self, name: str, attention: str, parts: Sequence[str], heads: int) -> LinearStruct:
        """Some of queries, keys and values, one behind the other."""
        outputs = len(parts) * self.inner(f"{attention}.sublayer.output", heads)
        inputs = self.weights[f"{attention}.sublayer.query.weight"].shape[1]

        def weight() -> Floats:
            return np.concatenate(
                [self.rows_apart(f"{attention}.sublayer.{each}", heads)[0] for each in parts]
            )

        def bias() -> Floats:
            return np.concatenate(
                [self.rows_apart(f"{attention}.sublayer.{each}", heads)[1] for each in parts]
            )

        return self.linear(name, (outputs, inputs), weight, bias)

    def rows_apart(self, name: str, heads: int) -> tuple[Floats, Floats]:
        """Weight and bias of a projection, with every head's outputs padded to a multiple of 16."""
        weight, bias = self.float32(f"{name}.weight"), self.float32(f"{name}.bias")
        if name.endswith("query"):  # scale them once, instead of every score
            scale = (len(weight) // heads) ** -0.5
            weight, bias = weight * scale, bias * scale
        return heads_apart(weight.T, heads).T, heads_apart(bias, heads)

    def layer(self, name: str) -> LinearStruct:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return self.linear(name, weight.shape, lambda: weight, lambda: bias)

    def linear(
        self,
        name: str,
        shape: tuple[int, ...],
        weight: Callable[[], NDArray[Any]],
        bias: Callable[[], NDArray[Any]] | None,
    ) -> LinearStruct:
        outputs, inputs = (up_to_unit(size) for size in shape)
        struct = LinearStruct(inputs=inputs, outputs=outputs)
        if bias is not None:
            wanted = [Wanted(f"{name}.bias", (outputs,), np.float32)]
            [struct.bias] = self.place(wanted, lambda to: copy_to(to, bias()))
        if not self.int8:
            blocks = Wanted(f"{name}.weight", (outputs // UNIT, inputs, UNIT), np.float32)
            [struct.weight] = self.place([blocks], lambda to: pack_floats(weight(), to, self.release))
            return struct
        wanted = [
            Wanted(f"{name}.weight", (outputs // UNIT, inputs // 4, UNIT, 4), np.int8),
            Wanted(f"{name}.scale", (outputs,), np.float32),
            Wanted(f"{name}.sum", (outputs,), np.float32),
        ]
        struct.weight, struct.scale, struct.sum = self.place(
            wanted, lambda *to: pack_int8(weight(), to[0], to[1], to[2], self.release)
        )
        return struct

    def norm(self, name: str) -> NormStruct:
        weight, bias = (self.row(f"{name}.{each}") for each in ("weight", "bias"))
        return NormStruct(weight=weight, bias=bias)

    def row(self, name: str) -> int:
        values = self.weights[name]
        wanted = Wanted(name, (up_to_unit(len(values)),), np.float32)
        [found] = self.place([wanted], lambda to: copy_to(to, values))
        return found

    def table(self, name: str) -> int:
        """Embeddings, (rows, padded width). A table that needs no padding stays where it is: few of its rows are read."""
        table = self.weights[name]
        rows, width = table.shape
        fits = table.dtype == np.float32 and width == up_to_unit(width) and table.flags.c_contiguous
        if fits and self.store.may_stay(name, table):
            return self.pointer(table)
        wanted = Wanted(name, (rows, up_to_unit(width)), np.float32)
        [found] = self.place([wanted], lambda to: copy_to(to, table))
        return found

    def rotation(self, name: str, context: int, stack: StackConfig) -> int:
        return self.constant(f"{name}.rotation", rotations(context, stack.width // stack.heads))

    def constant(self, name: str, table: Floats) -> int:
        """A table that is not one of the weights."""
        [found] = self.place([Wanted(name, table.shape, np.float32)], lambda to: copy_to(to, table))
        return found

    def float32(self, name: str) -> Floats:
        return np.asarray(self.weights[name], np.float32)

    def place(self, wanted: Sequence[Wanted], fill: Callable[..., None]) -> list[int]:
        return [self.pointer(array) for array in self.store.arrays(wanted, fill)]

    def pointer(self, array: NDArray[Any]) -> int:
        self.kept.append(array)
        return array.ctypes.data


def nothing() -> None:
    """Weights that are not mapped from a file have no memory to give back."""


def copy_to(to: NDArray[Any], values: NDArray[Any]) -> None:
    """Copy into the beginning of every row; the rest stays zero."""
    to[..., : values.shape[-1]] = check_finite(values)


def pack_floats(weight: NDArray[Any], to: NDArray[Any], release: Callable[[], None]) -> None:
    for start in range(0, len(weight), CHUNK):
        whole = padded(check_finite(np.asarray(weight[start : start + CHUNK], np.float32)))
        blocks = whole.reshape(-1, UNIT, whole.shape[1])
        to[start // UNIT :][: len(blocks)] = blocks.transpose(0, 2, 1)
        release()


def pack_int8(
    weight: NDArray[Any],
    to: NDArray[Any],
    scales: NDArray[Any],
    sums: NDArray[Any],
    release: Callable[[], None],
) -> None:
    for start in range(0, len(weight), CHUNK):
        chunk = padded(check_finite(np.asarray(weight[start : start + CHUNK], np.float32)))
        whole, scale = rounded(chunk)
        fours = whole.astype(np.int8).reshape(-1, UNIT, whole.shape[1] // 4, 4)
        to[start // UNIT :][: len(fours)] = fours.transpose(0, 2, 1, 3)
        scales[start:][: len(scale)], sums[start:][: len(scale)] = scale, scale * whole.sum(1)
        release()


def check_finite(weights: NDArray[Any]) -> NDArray[Any]:
    """Check for NaN and infinite weights, which the compiled loops could hide."""
    if not (
        np.isfinite(weights.min()) and np.isfinite(weights.max())
    ):  # a NaN is the minimum and the maximum
        raise QkvError("some of the model's weights are NaN or infinite: it is broken. Train it again.")
    return weights


def columns_padded(table: Floats) -> Floats:
    return zero_padded(table, (0, up_to_unit(table.shape[1]) - table.shape[1]))
