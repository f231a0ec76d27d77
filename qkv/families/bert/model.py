"""BERT (deck 003: a stacked, bidirectional encoder): masked words, the next sentence, and labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.batch import move_batch
from qkv.core.block import ACTIVATIONS, Stack
from qkv.core.dropout import Dropout
from qkv.core.masks import padding_mask
from qkv.core.positions import LearnedPositions
from qkv.core.tape import Tape, inside
from qkv.families.bert.config import BertClassifierConfig, BertConfig, EncoderConfig


@dataclass(frozen=True)
class MaskedBatch:
    """Texts with masked words, those words, and whether the second part of each text follows the first."""

    ids: Tensor  # (B, T)
    segments: Tensor  # (B, T)
    places: Tensor  # (N) positions of the masked words in the flattened ids
    words: Tensor  # (N) the masked words
    follows: (
        Tensor  # (B) 0 if the second part comes next in its document (as in published models), else 1; or (0)
    )

    def to(self, device: torch.device) -> Self:
        return move_batch(self, device)


@dataclass(frozen=True)
class LabelBatch:
    """Texts, each with a class or a number."""

    ids: Tensor  # (B, T)
    segments: Tensor  # (B, T)
    labels: Tensor  # (B) integers for classes, floats for regression

    def to(self, device: torch.device) -> Self:
        return move_batch(self, device)


class Encoder(nn.Module):
    """Token, position and segment embeddings, summed and normed; then blocks in which all positions attend to all."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = config
        stack = config.stack
        self.tokens = nn.Embedding(config.vocab_size, stack.width)
        self.positions = LearnedPositions(config.max_length, stack.width)
        self.segments = nn.Embedding(config.segments, stack.width)
        for table in (self.tokens, self.segments):
            nn.init.normal_(table.weight, std=0.02)
        self.norm = nn.LayerNorm(stack.width, eps=stack.norm_eps)
        self.dropout = Dropout(stack.dropout)
        self.stack = Stack(stack)

    def embed(self, ids: Tensor, segments: Tensor | None, tape: Tape | None = None) -> Tensor:
        tokens = self.tokens(ids)  # (B, T, D)
        which = self.segments.weight[0] if segments is None else self.segments(segments)
        positions = self.positions(0, ids.shape[1])
        embedded: Tensor = self.norm(tokens + which + positions)
        if tape is not None:
            for name, tensor in [("tokens", tokens), ("positions", positions), ("embedded", embedded)]:
                tape.record(name, tensor)
        dropped: Tensor = self.dropout(embedded)
        return dropped

    def forward(self, ids: Tensor, segments: Tensor | None = None, tape: Tape | None = None) -> Tensor:
        """(B, T) to (B, T, D); without segments the input is one text."""
        x = self.embed(ids, segments, tape)
        y: Tensor = self.stack(x, mask=padding_mask(ids, self.config.pad), tape=tape)
        return y


class TextsByTorch:
    """An encoder for concatenated texts from and to NumPy arrays: the interface that products use."""

    def __init__(self, encoder: Encoder):
        self.encoder, self.config = encoder, encoder.config

    @torch.inference_mode()
    def __call__(
        self, ids: Sequence[int], segments: Sequence[int], lengths: Sequence[int], pooling: str = "each"
    ) -> Any:
        """States of each position, (N, D), or of each text, (texts, D): their "mean" or the "first"."""
        device, sizes = self.encoder.tokens.weight.device, list(lengths)
        padded = (
            nn.utils.rnn.pad_sequence(torch.tensor(given).split(sizes), batch_first=True, padding_value=pad)
            for given, pad in ((ids, self.config.pad), (segments, 0))
        )
        x = self.encoder.eval()(*(each.to(device) for each in padded)).float().cpu()  # (B, T, D)
        parts = [row[:size] for row, size in zip(x, sizes, strict=True)]
        if pooling == "each":
            return torch.cat(parts).numpy()
        return torch.stack([part.mean(0) if pooling == "mean" else part[0] for part in parts]).numpy()


class Pooler(nn.Module):
    """One vector for the whole input: tanh of a linear layer on the first position."""

    def __init__(self, width: int):
        super().__init__()
        self.linear = linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x[:, 0]))  # (B, T, D) -> (B, D)


class WordHead(nn.Module):
    """Logits of words: a linear layer, the product with the embeddings, and a bias for each word."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        stack = config.stack
        self.transform = linear(stack.width, stack.width)
        self.activation = ACTIVATIONS[stack.activation]
        self.norm = nn.LayerNorm(stack.width, eps=stack.norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, x: Tensor, words: Tensor) -> Tensor:
        return F.linear(self.norm(self.activation(self.transform(x))), words, self.bias)  # (…, D) -> (…, V)


class Bert(nn.Module):
    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        width = config.encoder.stack.width
        self.encoder = Encoder(config.encoder)
        self.pooler = Pooler(width) if config.pooler else None
        self.words = WordHead(config.encoder) if config.words else None
        self.next_sentence = linear(width, 2) if config.next_sentence else None

    @property
    def texts(self) -> TextsByTorch:
        return TextsByTorch(self.encoder)

    @torch.inference_mode()
    def word_scores(self, states: Any) -> Any:
        """`word_logits` from and to NumPy arrays, for products."""
        weight = self.encoder.tokens.weight
        return self.eval().word_logits(torch.from_numpy(states).to(weight)).float().cpu().numpy()

    @torch.inference_mode()
    def next_scores(self, firsts: Any) -> Any:
        """`next_logits` from and to NumPy arrays, of the states of first positions, (B, D), for products."""
        weight = self.encoder.tokens.weight
        return self.eval().next_logits(torch.from_numpy(firsts).to(weight)[:, None]).float().cpu().numpy()

    def word_logits(self, x: Tensor) -> Tensor:
        if self.words is None:
            raise ValueError("this model has no head for words")
        logits: Tensor = self.words(x, self.encoder.tokens.weight)
        return logits

    def next_logits(self, x: Tensor) -> Tensor:
        """Logits that the second part follows and that it does not, from states (B, T, D).  (B, 2)"""
        if self.next_sentence is None or self.pooler is None:
            raise ValueError("this model has no head for the next sentence")
        logits: Tensor = self.next_sentence(self.pooler(x))
        return logits

    def forward(self, ids: Tensor, segments: Tensor | None = None, tape: Tape | None = None) -> Tensor:
        """Logits of the word at every position."""
        logits = self.word_logits(self.encoder(ids, segments, inside(tape, "encoder")))
        if tape is not None:
            tape.record("logits", logits)
        return logits

    def loss(self, batch: MaskedBatch) -> Tensor:
        """The mean over masked words of their cross-entropy plus the next-sentence loss of their text.

        So the loss of a batch is the mean of the losses of its parts, weighted by their masked words.
        """
        x = self.encoder(batch.ids, batch.segments)
        masked = x.flatten(0, 1)[batch.places]  # (N, D)
        loss = F.cross_entropy(self.word_logits(masked), batch.words)
        if not len(batch.follows):
            return loss
        by_text = F.cross_entropy(self.next_logits(x), batch.follows, reduction="none")  # (B)
        return loss + by_text[batch.places // batch.ids.shape[1]].mean()


class BertClassifier(nn.Module):
    """The encoder, its pooler, and one more matrix."""

    def __init__(self, config: BertClassifierConfig):
        super().__init__()
        self.config = config
        width = config.encoder.stack.width
        self.encoder = Encoder(config.encoder)
        self.pooler = Pooler(width)
        self.dropout = Dropout(config.encoder.stack.dropout)
        self.labels = linear(width, config.outputs)

    @property
    def texts(self) -> TextsByTorch:
        return TextsByTorch(self.encoder)

    @torch.inference_mode()
    def label_scores(self, firsts: Any) -> Any:
        """Logits from and to NumPy arrays, of the states of first positions, (B, D), for products."""
        self.eval()
        states = torch.from_numpy(firsts).to(self.labels.weight)[:, None]
        return self.labels(self.pooler(states)).float().cpu().numpy()

    def forward(self, ids: Tensor, segments: Tensor | None = None, tape: Tape | None = None) -> Tensor:
        x = self.encoder(ids, segments, inside(tape, "encoder"))
        logits: Tensor = self.labels(self.dropout(self.pooler(x)))  # (B, outputs)
        if tape is not None:
            tape.record("logits", logits)
        return logits

    def loss(self, batch: LabelBatch) -> Tensor:
        logits = self(batch.ids, batch.segments)
        if self.config.numbers:
            return F.mse_loss(logits[:, 0], batch.labels)
        return F.cross_entropy(logits, batch.labels)


def linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer
