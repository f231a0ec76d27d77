"""The interface of all translation models: batch, loss, decoding step and attention to the source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.batch import move_batch
from qkv.core.distillation import Distillation, distilled_cross_entropy
from qkv.core.loss import output_cross_entropy
from qkv.core.masks import padding_mask
from qkv.core.tape import Tape
from qkv.core.translation import CrossHeads, TranslationConfig


@dataclass(frozen=True)
class TranslationBatch:
    """Sentence pairs as padded ids. Teacher forcing: the decoder reads `shifted` and predicts `target`."""

    source: Tensor  # (B, S)
    shifted: Tensor  # (B, T) start, word 1, word 2, …
    target: Tensor  # (B, T) word 1, word 2, …, end
    real: Tensor  # (N) positions in the flattened target that are not padding

    @classmethod
    def of(cls, source: Tensor, shifted: Tensor, target: Tensor, pad: int) -> Self:
        return cls(source, shifted, target, (target != pad).flatten().nonzero().squeeze(1))

    def to(self, device: torch.device) -> Self:
        return move_batch(self, device)


def attention_of(look: CrossHeads, tape: Tape) -> Tensor:
    """Mean attention of these heads, (B, T, S)."""
    return tape[recorded_attention(look.block)][:, list(look.heads)].mean(1)


def recorded_attention(block: int) -> str:
    """The name of a block's cross-attention weights on a tape, (B, H, T, S)."""
    return f"decoder.{block}.cross_attention.weights"


class Selectable(Protocol):
    """The state of a decoding between steps."""

    def select(self, rows: Tensor) -> None: ...  # keep these rows of the batch, in this order


class TranslationModel(nn.Module):
    """Source ids in, target logits out. Usually one matrix embeds source and target and makes the logits (section 3.4)."""

    config: TranslationConfig
    tokens: nn.Embedding
    bias: nn.Parameter | None  # (V) added to the logits, as in Marian's models
    distillation: Distillation | None = None  # what it learns from in training, apart from the targets

    def encode(self, source: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """The memory that the decoder attends to, (B, S, …), and its mask, (B, 1, 1, S)."""
        raise NotImplementedError

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        cache: Any = None,
        tape: Tape | None = None,
    ) -> Tensor:
        """States of the ids that follow those in the cache, before the output layer. (B, T, D)"""
        raise NotImplementedError

    def new_cache(self) -> Selectable:
        """A cache for one decoding, used only by `decode`."""
        raise NotImplementedError

    @property
    def output_table(self) -> nn.Embedding:
        """The vectors of the output layer, (V, D)."""
        return self.tokens

    def output(self, x: Tensor) -> Tensor:
        return F.linear(x, self.output_table.weight, self.bias)  # (…, D) -> (…, V)

    def forward(self, source: Tensor, shifted: Tensor, tape: Tape | None = None) -> Tensor:
        logits = self.output(self.decode(shifted, *self.encode(source, tape), tape=tape))
        if tape is not None:
            tape.record("logits", logits)
        return logits

    def loss(self, batch: TranslationBatch) -> Tensor:
        """Mean cross-entropy per real target token. Label smoothing and distillation, like dropout, are for training only."""
        rows, words = self.output_rows(batch)
        targets = batch.target.flatten()[batch.real]  # (N)
        smoothing = self.config.label_smoothing if self.training else 0.0
        if self.distillation is None or not self.training:
            return output_cross_entropy(rows, words, targets, smoothing)
        teachers = self.distillation.rows(batch)
        return distilled_cross_entropy((rows, words), targets, smoothing, teachers, self.distillation)

    def output_rows(self, batch: TranslationBatch) -> tuple[Tensor, Tensor]:
        """States of the real target tokens, (N, D), and the output layer, (V, D), whose product are the logits."""
        x = self.decode(batch.shifted, *self.encode(batch.source))
        rows, words = x.flatten(0, 1)[batch.real], self.output_table.weight
        if self.bias is not None:  # as one more column of the embeddings, times a constant 1
            rows = torch.cat([rows, rows.new_ones(len(rows), 1)], dim=1)  # (N, D + 1)
            words = torch.cat([words, self.bias[:, None]], dim=1)  # (V, D + 1)
        return rows, words

    @property
    def device(self) -> torch.device:
        return self.tokens.weight.device

    def begin(self, sources: Sequence[Sequence[int]], look: CrossHeads | None = None) -> "TranslationStep":
        """Start to decode these sources, each complete. The model is put in evaluation mode."""
        rows = [torch.tensor(source) for source in sources]
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.config.pad)  # (B, S)
        return TranslationStep(self.eval(), padded.to(self.device), look)


class TranslationStep:
    """Decodes a batch of sources token by token (the Step protocol)."""

    @torch.no_grad()
    def __init__(self, model: TranslationModel, source: Tensor, look: CrossHeads | None = None):
        self.model, self.look = model, look
        self.memory, self.mask = model.encode(source)
        self.cache = model.new_cache()
        self.newest: Tensor | None = None  # (B, S) attention of the last call, if `look` was given

    @torch.no_grad()
    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the next token, (B, V), out."""
        tape = None if self.look is None else Tape(only=recorded_attention(self.look.block))
        x = self.model.decode(ids, self.memory, self.mask, self.cache, tape)
        if self.look is not None and tape is not None:
            self.newest = attention_of(self.look, tape)[:, -1]
        return self.model.output(x[:, -1])

    @property
    def attention(self) -> Tensor:
        """Attention of the last call, (B, S); padding counts as fully attended to."""
        if self.newest is None:
            raise ValueError("a step records attention only if it was begun with cross-attention heads")
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
    """(B, 1, 1, S). A source without tokens is an error, because there is nothing to attend to."""
    mask = padding_mask(source, pad)
    if source.device.type == "cpu" and not mask.any(dim=-1).all():  # other devices would have to synchronize
        raise ValueError("a source sentence has no tokens")
    return mask
