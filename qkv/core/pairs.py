"""What every model of sentence pairs offers, whatever it is made of: its batch, its loss, and where it looks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.batch import moved
from qkv.core.loss import output_cross_entropy
from qkv.core.masks import padding_mask
from qkv.core.tape import Tape


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


@dataclass(frozen=True, kw_only=True)
class CrossHeads:
    """Heads of the attention on the source, in one block of the decoder."""

    block: int
    heads: tuple[int, ...]

    @property
    def recorded_as(self) -> str:
        return recorded_attention(self.block)

    def of(self, tape: Tape) -> Tensor:
        """Their mean, (B, T, S)."""
        return tape[self.recorded_as][:, list(self.heads)].mean(1)


def recorded_attention(block: int) -> str:
    """The name on a tape of a block's attention on the source, (B, H, T, S), in every model of pairs."""
    return f"decoder.{block}.cross_attention.weights"


class TranslationConfig(Protocol):
    """What is asked of a model's configuration by those who do not know what the model is made of."""

    @property
    def vocab_size(self) -> int: ...

    @property
    def max_length(self) -> int: ...  # the most positions on either side

    @property
    def pad(self) -> int: ...

    @property
    def start(self) -> int: ...  # what is read before the first word is said

    @property
    def end(self) -> int: ...

    @property
    def label_smoothing(self) -> float: ...

    @property
    def cross_attention_shape(
        self,
    ) -> tuple[int, int]: ...  # blocks that look at the source, and heads in each

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]: ...  # of the weights, by name

    def facts(self) -> dict[str, str]: ...  # what it is made of, for people


class Selectable(Protocol):
    """What a decoding keeps between steps."""

    def select(self, rows: Tensor) -> None: ...  # keep these rows of the batch, in this order


class TranslationModel(nn.Module):
    """Source ids in, target logits out. One matrix embeds source and target and makes the logits (section 3.4)."""

    architecture: ClassVar[str]  # its name in bundles and on the command line
    config: TranslationConfig
    tokens: nn.Embedding
    bias: nn.Parameter | None  # (V) what is added to the logit of each word, as in Marian's models

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """The memory that the decoder looks at, (B, S, …), and its mask, (B, 1, 1, S)."""
        raise NotImplementedError

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Any = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """What is made of the ids that follow those in the cache, before the output layer. (B, T, D)"""
        raise NotImplementedError

    def new_cache(self) -> Selectable:
        """For one decoding; only `decode` knows what is in it."""
        raise NotImplementedError

    def output(self, x: Tensor) -> Tensor:
        return F.linear(x, self.tokens.weight, self.bias)  # (…, D) -> (…, V)

    def forward(self, source: Tensor, shifted: Tensor, tape: Tape | None = None) -> Tensor:
        logits = self.output(self.decode(shifted, *self.encode(source, tape), tape=tape))
        if tape is not None:
            tape.record("logits", logits)
        return logits

    def loss(self, batch: TranslationBatch) -> Tensor:
        """Mean cross-entropy per real target token; smoothed labels, like dropout, belong to training alone."""
        x = self.decode(batch.shifted, *self.encode(batch.source))
        smoothing = self.config.label_smoothing if self.training else 0.0
        rows, targets = (each.flatten(0, 1)[batch.real] for each in (x, batch.target))  # (N, D), (N)
        words = self.tokens.weight
        if self.bias is not None:  # as one more column of the words, which every row reads with 1
            rows = torch.cat([rows, rows.new_ones(len(rows), 1)], dim=1)  # (N, D + 1)
            words = torch.cat([words, self.bias[:, None]], dim=1)  # (V, D + 1)
        return output_cross_entropy(rows, words, targets, smoothing)

    def begin(self, source: Tensor, look: CrossHeads | None = None) -> "TranslationStep":
        return TranslationStep(self, source, look)


class TranslationStep:
    """One decoding of a batch of sources, word by word (the Step protocol)."""

    def __init__(self, model: TranslationModel, source: Tensor, look: CrossHeads | None = None):
        self.model, self.look = model, look
        self.memory, self.mask = model.encode(source)
        self.cache = model.new_cache()
        self.newest: Tensor | None = None  # (B, S) where the last call has looked, if that was asked for

    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the word after the last of them, (B, V), out."""
        tape = None if self.look is None else Tape(only=self.look.recorded_as)
        x = self.model.decode(ids, self.memory, self.mask, self.cache, tape)
        if self.look is not None and tape is not None:
            self.newest = self.look.of(tape)[:, -1]
        return self.model.output(x[:, -1])

    @property
    def attention(self) -> Tensor:
        """(B, S) of the last call; padding counts as fully seen."""
        if self.newest is None:
            raise ValueError("a step tells where it has looked only if it is begun with heads to look at")
        return self.newest.masked_fill(~self.mask[:, 0, 0], 1.0)

    def select(self, rows: Tensor) -> None:
        self.memory, self.mask = self.memory[rows], self.mask[rows]
        self.cache.select(rows)
        self.newest = None if self.newest is None else self.newest[rows]


def joint_embedding(vocab: int, width: int) -> nn.Embedding:
    tokens = nn.Embedding(vocab, width)
    nn.init.normal_(tokens.weight, std=width**-0.5)
    return tokens


def source_mask(source: Tensor, pad: int) -> Tensor:
    """(B, 1, 1, S); a source without a single token is refused, for there is nothing to look at."""
    mask = padding_mask(source, pad)
    if source.device.type == "cpu" and not mask.any(dim=-1).all():  # elsewhere the answer would take time
        raise ValueError("a source sentence has no tokens")
    return mask
