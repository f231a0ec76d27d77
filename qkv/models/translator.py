"""Translation: source ids in, target logits out, in two ways.

Translator   the encoder-decoder Transformer of the paper (T-ED in deck 003)
OneStream    the decoder alone (T-D): source and target are one causal stream, and the loss is on the target
"""

from dataclasses import dataclass
from typing import Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.batch import moved
from qkv.core.block import Stack, StackConfig
from qkv.core.cache import Cache
from qkv.core.dropout import Dropout
from qkv.core.loss import output_cross_entropy
from qkv.core.masks import causal_mask, padding_mask
from qkv.core.positions import LearnedPositions, RotaryPositions, SinusoidalPositions
from qkv.core.tape import Tape, inside


@dataclass(frozen=True, kw_only=True)
class OneStreamConfig:
    vocab: int
    context: int  # the most positions on either side
    pad: int
    start: int  # what the decoder reads before the first word
    end: int
    positions: Literal["interleaved", "halves", "learned", "rotary"]
    decoder: StackConfig
    smoothing: float = 0.0
    output_bias: bool = False  # a number added to the logit of each word, as in Marian's models

    def __post_init__(self) -> None:
        if self.positions == "rotary" and any(stack.width // stack.heads % 2 for stack in self.stacks):
            raise ValueError("rotary positions turn pairs of columns: the width of a head must be even")
        if not 0 <= self.smoothing < 1:
            raise ValueError("label smoothing must be at least 0 and below 1")

    @property
    def stacks(self) -> tuple[StackConfig, ...]:
        return (self.decoder,)


@dataclass(frozen=True, kw_only=True)
class TranslatorConfig(OneStreamConfig):
    encoder: StackConfig

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoder.width != self.decoder.width:
            raise ValueError(f"encoder width {self.encoder.width} is not decoder width {self.decoder.width}")

    @property
    def stacks(self) -> tuple[StackConfig, ...]:
        return self.encoder, self.decoder


@dataclass(frozen=True, kw_only=True)
class CrossHeads:
    """Heads of the attention on the source, in one block of the decoder."""

    block: int
    heads: tuple[int, ...]

    @property
    def recorded_as(self) -> str:
        return f"decoder.{self.block}.cross_attention.weights"

    def of(self, tape: Tape) -> Tensor:
        """Their mean, (B, T, S)."""
        return tape[self.recorded_as][:, list(self.heads)].mean(1)


@dataclass(frozen=True)
class TranslationBatch:
    """Sentence pairs as padded ids. Teacher forcing: the decoder reads `shifted` and must say `target`."""

    source: Tensor  # (B, S)
    shifted: Tensor  # (B, T) start, word 1, word 2, …
    target: Tensor  # (B, T) word 1, word 2, …, end
    real: Tensor  # (N) the places in the flattened target that are no padding

    @classmethod
    def of(cls, source: Tensor, shifted: Tensor, target: Tensor, pad: int) -> Self:
        return cls(source, shifted, target, (target != pad).flatten().nonzero().squeeze(1))

    def to(self, device: torch.device) -> Self:
        return moved(self, device)


class TranslationModel(nn.Module):
    """What both ways have in common: a source is encoded, and the target decoded from that, word by word."""

    def __init__(self, config: OneStreamConfig):
        super().__init__()
        self.config = config
        width = config.decoder.width
        self.tokens = nn.Embedding(config.vocab, width)  # shared by source, target and output (section 3.4)
        nn.init.normal_(self.tokens.weight, std=width**-0.5)
        self.source_positions = added_positions(config)
        self.target_positions = added_positions(config)
        self.dropout = Dropout(config.decoder.dropout)
        self.bias = nn.Parameter(torch.zeros(config.vocab)) if config.output_bias else None

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """What the decoder looks at, (B, S, …), and its mask, (B, 1, 1, S)."""
        raise NotImplementedError

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Cache | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """What the decoder makes of the ids that follow those in the cache, before the output layer. (B, T, D)"""
        raise NotImplementedError

    def embed(self, ids: Tensor, positions: Tensor | None, tape: Tape | None = None) -> Tensor:
        tokens = self.tokens(ids) * self.config.decoder.width**0.5  # (B, T, D)
        total = tokens if positions is None else tokens + positions
        if tape is not None:
            for name, tensor in [("tokens", tokens), ("positions", positions), ("embedded", total)]:
                if tensor is not None:
                    tape.record(name, tensor)
        embedded: Tensor = self.dropout(total)
        return embedded

    def source_mask(self, source: Tensor) -> Tensor:
        mask = padding_mask(source, self.config.pad)
        if source.device.type == "cpu" and not mask.any(dim=-1).all():  # elsewhere the answer would take time
            raise ValueError("a source sentence has no tokens")
        return mask

    def output(self, x: Tensor) -> Tensor:
        return F.linear(x, self.tokens.weight, self.bias)  # (B, T, D) -> (B, T, V)

    def forward(self, source: Tensor, shifted: Tensor, tape: Tape | None = None) -> Tensor:
        memory, mask = self.encode(source, tape)
        logits = self.output(self.decode(shifted, memory, mask, tape=tape))
        if tape is not None:
            tape.record("logits", logits)
        return logits

    def loss(self, batch: TranslationBatch) -> Tensor:
        """Mean cross-entropy per real target token; smoothed labels, like dropout, belong to training alone."""
        x = self.decode(batch.shifted, *self.encode(batch.source))
        smoothing = self.config.smoothing if self.training else 0.0
        rows, targets = (each.flatten(0, 1)[batch.real] for each in (x, batch.target))  # (N, D), (N)
        words = self.tokens.weight
        if self.bias is not None:  # as one more column of the words, which every row reads with 1
            rows = torch.cat([rows, rows.new_ones(len(rows), 1)], dim=1)  # (N, D + 1)
            words = torch.cat([words, self.bias[:, None]], dim=1)  # (V, D + 1)
        return output_cross_entropy(rows, words, targets, smoothing)

    def begin(self, source: Tensor, look: CrossHeads | None = None) -> "TranslatorStep":
        return TranslatorStep(self, source, look)


class Translator(TranslationModel):
    config: TranslatorConfig

    def __init__(self, config: TranslatorConfig):
        super().__init__(config)
        self.source_rotation = rotations(config, config.encoder)
        self.target_rotation = rotations(config, config.decoder)
        self.encoder = Stack(config.encoder)
        self.decoder = Stack(config.decoder, cross=True)

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """The memory that the decoder looks at, (B, S, D), and its mask, (B, 1, 1, S)."""
        mask = self.source_mask(source)
        tape = inside(tape, "encoder")
        length = source.shape[1]
        x = self.embed(source, between(self.source_positions, 0, length), tape)
        rotation = between(self.source_rotation, 0, length)
        return self.encoder(x, mask=mask, rotation=rotation, tape=tape), mask

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Cache | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """Padding stands at the end of a target, behind everything that could look at it: the causal mask is enough."""
        start, length = (0 if cache is None else cache.length), ids.shape[1]
        tape = inside(tape, "decoder")
        x = self.embed(ids, between(self.target_positions, start, length), tape)
        y: Tensor = self.decoder(
            x,
            mask=causal_mask(length, start + length, ids.device),
            rotation=between(self.target_rotation, start, length),
            memory=memory,
            memory_mask=memory_mask,
            cache=cache,
            tape=tape,
        )
        return y


class OneStream(TranslationModel):
    """No separate encoder: the decoder reads the source, then goes on with the target behind it.

    Positions are counted anew on the target side, so that padding between the two changes nothing; a vector for each
    side tells them apart.
    """

    def __init__(self, config: OneStreamConfig):
        super().__init__(config)
        self.rotation = rotations(config, config.decoder)
        self.sides = nn.Parameter(torch.randn(2, config.decoder.width) * 0.02)
        self.decoder = Stack(config.decoder)

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """Nothing is computed yet: the source's ids, (B, S), and its mask."""
        return source, self.source_mask(source)

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Cache | None = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """At first the source is read as well; its keys and values stay in the cache with those of the target."""
        before, sources, length = (0 if cache is None else cache.length), memory.shape[1], ids.shape[1]
        inner = (
            None
            if tape is None
            else Tape(only=tape.only and tape.only.replace("cross_attention", "attention"))
        )
        said = max(0, before - sources)  # of the target
        x = self.embed(ids, between(self.target_positions, said, length)) + self.sides[1]
        rotation = between(self.rotation, said, length)
        if not before:
            source = self.embed(memory, between(self.source_positions, 0, sources)) + self.sides[0]
            x = torch.cat([source, x], dim=1)  # (B, S + T, D)
            if rotation is not None:
                rotation = torch.cat([self.rotation(0, sources), rotation])  # type: ignore[misc]
        keys = before + x.shape[1]
        seen = F.pad(memory_mask, (0, keys - sources), value=True)  # (B, 1, 1, S + T)
        y = self.decoder(
            x,
            mask=causal_mask(x.shape[1], keys, ids.device) & seen,
            rotation=rotation,
            cache=cache,
            tape=inside(inner, "decoder"),
        )
        if tape is not None and inner is not None:
            tell_of_source(tape, inner, sources, length)
        return y[:, -length:]  # (B, T, D)


def tell_of_source(tape: Tape, inner: Tape, sources: int, length: int) -> None:
    """Copy what was recorded; how the target looks at the source gets the name that it has in an encoder-decoder."""
    for name, tensor in inner.tensors.items():
        tape.record(name, tensor)
        if name.endswith(".attention.weights"):
            looks = tensor[:, :, -length:, :sources]  # (B, H, T, S)
            share = looks / looks.sum(-1, keepdim=True).clamp(min=1e-9)
            tape.record(name.replace(".attention.", ".cross_attention."), share)


def translation_model(config: OneStreamConfig) -> TranslationModel:
    return Translator(config) if isinstance(config, TranslatorConfig) else OneStream(config)


def added_positions(config: OneStreamConfig) -> nn.Module | None:
    """What is added to the embeddings of one side; rotary positions add nothing."""
    width = config.decoder.width
    match config.positions:
        case "learned":
            return LearnedPositions(config.context, width)
        case "interleaved" | "halves":
            return SinusoidalPositions(config.context, width, config.positions)
        case "rotary":
            return None


def rotations(config: OneStreamConfig, stack: StackConfig) -> nn.Module | None:
    """What turns the queries and keys of one side's self-attention."""
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.context, stack.width // stack.heads)


def between(positions: nn.Module | None, start: int, length: int) -> Tensor | None:
    found: Tensor | None = None if positions is None else positions(start, length)
    return found


class TranslatorStep:
    """One decoding of a batch of sources, word by word (the Step protocol)."""

    def __init__(self, model: TranslationModel, source: Tensor, look: CrossHeads | None = None):
        self.model, self.look = model, look
        self.memory, self.mask = model.encode(source)
        self.cache = Cache(model.config.decoder.depth)
        self.newest: Tensor | None = None  # (B, S) where the last call has looked, if that was asked for

    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the word after the last of them, (B, V), out."""
        tape = None if self.look is None else Tape(only=self.look.recorded_as)
        x = self.model.decode(ids, self.memory, self.mask, self.cache, tape)
        if self.look is not None and tape is not None:
            self.newest = self.look.of(tape)[:, -1]
        return self.model.output(x[:, -1])

    @property
    def looked(self) -> Tensor:
        """(B, S) of the last call; padding counts as fully seen."""
        if self.newest is None:
            raise ValueError("a step tells where it has looked only if it is begun with heads to look at")
        return self.newest.masked_fill(~self.mask[:, 0, 0], 1.0)

    def select(self, rows: Tensor) -> None:
        self.memory, self.mask = self.memory[rows], self.mask[rows]
        self.cache.select(rows)
        self.newest = None if self.newest is None else self.newest[rows]
