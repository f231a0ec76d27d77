"""A decoder-only Transformer (T-D in deck 003): each token attends to itself and to the tokens before it.

GPT-1 has post-norm and learned positions. GPT-2 has pre-norm, a final norm and a smaller initialization of the
residual branches. A model fine-tuned for a task has one more matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.batch import move_batch
from qkv.core.block import Stack
from qkv.core.cache import Cache
from qkv.core.dropout import Dropout
from qkv.core.loss import output_cross_entropy
from qkv.core.masks import causal_mask
from qkv.core.positions import LearnedPositions, RotaryPositions
from qkv.core.tape import Tape, inside
from qkv.families.gpt.config import GPTConfig, TaskConfig, first_read

INITIAL_STD = 0.02  # of the weights, in both papers


@dataclass(frozen=True)
class TextBatch:
    """Windows of a text: at every position the model reads `ids` up to there and predicts `target`."""

    ids: Tensor  # (B, T)
    target: Tensor  # (B, T) `ids` shifted by one token
    real: Tensor  # (N) positions in the flattened target that count towards the loss

    @classmethod
    def of(cls, rows: Sequence[Any], pad: int) -> Self:
        """From rows of ids that are one token longer than the input; shorter rows are padded at the end."""
        tensors = [torch.as_tensor(row) for row in rows]
        padded = nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=pad)
        lengths = torch.tensor([len(row) - 1 for row in rows])
        counts = torch.arange(padded.shape[1] - 1)[None] < lengths[:, None]
        return cls(padded[:, :-1], padded[:, 1:], counts.flatten().nonzero().squeeze(1))

    def to(self, device: torch.device) -> Self:
        return move_batch(self, device)


class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        stack = config.stack
        self.tokens = nn.Embedding(config.vocab_size, stack.width)  # also the output layer
        learned, head = config.positions == "learned", stack.width // stack.heads
        self.positions = LearnedPositions(config.max_length, stack.width) if learned else None
        self.rotation = None if learned else RotaryPositions(config.max_length, head)
        self.dropout = Dropout(stack.dropout)
        self.stack = Stack(stack)
        initialize(self)

    def read(self, ids: Tensor, cache: Cache | None = None, tape: Tape | None = None) -> Tensor:
        """States of the ids that follow those in the cache, before the output layer. (B, T, D)"""
        start, length = (0 if cache is None else cache.length), ids.shape[1]
        tape = inside(tape, "decoder")
        x = self.tokens(ids)  # (B, T, D)
        if tape is not None:
            tape.record("tokens", x)
        if self.positions is not None:
            x = x + self.positions(start, length)
        if tape is not None:
            tape.record("embedded", x)
        y: Tensor = self.stack(
            self.dropout(x),
            mask=causal_mask(length, start + length, ids.device),
            rotation=None if self.rotation is None else self.rotation(start, length),
            cache=cache,
            tape=tape,
        )
        return y

    def output(self, x: Tensor) -> Tensor:
        return F.linear(x, self.tokens.weight)  # (…, D) -> (…, V)

    def forward(self, ids: Tensor, tape: Tape | None = None) -> Tensor:
        logits = self.output(self.read(ids, tape=tape))
        if tape is not None:
            tape.record("logits", logits)
        return logits

    def loss(self, batch: TextBatch) -> Tensor:
        """Mean cross-entropy per token."""
        return self.cross_entropy(self.read(batch.ids), batch)

    def cross_entropy(self, x: Tensor, batch: TextBatch) -> Tensor:
        rows, targets = (each.flatten(0, 1)[batch.real] for each in (x, batch.target))  # (N, D), (N)
        return output_cross_entropy(rows, self.tokens.weight, targets, label_smoothing=0.0)

    @property
    def device(self) -> torch.device:
        return self.tokens.weight.device

    def begin(self) -> "GPTStep":
        """Start to read a batch of texts. The model is put in evaluation mode."""
        return GPTStep(self.eval())

    @torch.inference_mode()
    def logits(self, ids: Any) -> Any:
        """Logits of all positions from and to NumPy arrays, in evaluation mode: the interface that products use."""
        return self.eval()(torch.as_tensor(ids, device=self.device)).float().cpu().numpy()

    @torch.inference_mode()
    def states(self, ids: Any) -> Any:
        """The same for the states before the output layer."""
        return self.eval().read(torch.as_tensor(ids, device=self.device)).float().cpu().numpy()


def initialize(model: GPT) -> None:
    """Normal with standard deviation 0.02 (GPT-1, section 4.1).

    With pre-norm, weights that add to the residual stream are divided by the square root of the number of additions
    (GPT-2, section 2.3), so that the sum does not grow with depth.
    """
    stack = model.config.stack
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=INITIAL_STD)
    if stack.norm == "pre":
        for name, weight in model.named_parameters():
            if name.endswith(("sublayer.output.weight", "sublayer.contract.weight")):
                nn.init.normal_(weight, std=INITIAL_STD * (2 * stack.depth) ** -0.5)


class GPTStep:
    """Reads a batch of texts token by token (the Step protocol), without a length limit."""

    def __init__(self, model: GPT):
        self.model = model
        self.cache = Cache(model.config.stack.depth)
        self.first = 0  # position of the first token in the cache
        self.read_ids: Tensor | None = None  # (B, length)

    @property
    def slid(self) -> bool:
        """Whether the beginning of the text was dropped."""
        return self.first > 0

    @torch.no_grad()
    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the next token, (B, V), out."""
        self.read_ids = ids if self.read_ids is None else torch.cat([self.read_ids, ids], dim=1)
        first = first_read(self.read_ids.shape[1], self.model.config.max_length)
        if first > self.first:
            self.first, self.cache = first, Cache(self.model.config.stack.depth)
            ids = self.read_ids[:, first:]
        return self.model.output(self.model.read(ids, self.cache)[:, -1])

    def select(self, rows: Tensor) -> None:
        self.cache.select(rows)
        self.read_ids = None if self.read_ids is None else self.read_ids[rows]


# Fine-tuning for a task (GPT-1, section 3.2) ---------------------------------------------------------------------


@dataclass(frozen=True)
class TaskBatch:
    """Examples with all their readings: one, both orders of a pair, or one for each choice."""

    text: TextBatch  # (B · W, T)
    last: Tensor  # (B, W) position of the token whose state is classified
    answer: Tensor  # (B) a class, a choice, or a number

    @classmethod
    def of(cls, examples: Sequence[Sequence[Sequence[int]]], answer: Tensor, pad: int) -> Self:
        """From the tokens of every reading of every example; all have the same number of readings."""
        rows = [tokens for readings in examples for tokens in readings]
        # One more token, neither read nor predicted, so that the last token is read.
        text = TextBatch.of([[*tokens, pad] for tokens in rows], pad)
        places = torch.tensor([len(tokens) - 1 for tokens in rows])
        ends = torch.arange(len(rows)) * text.ids.shape[1] + places
        real = text.real[~torch.isin(text.real, ends)]
        return cls(TextBatch(text.ids, text.target, real), places.view(len(examples), -1), answer)

    def to(self, device: torch.device) -> Self:
        return move_batch(self, device)


class GPTForTask(nn.Module):
    """A GPT with one more matrix on the last token's state. Several readings are summed, or compete as choices."""

    def __init__(self, config: TaskConfig):
        super().__init__()
        self.config = config
        self.gpt = GPT(config.gpt)
        self.dropout = Dropout(config.gpt.stack.dropout)
        self.head = nn.Linear(config.gpt.stack.width, config.classes, bias=False)
        nn.init.normal_(self.head.weight, std=INITIAL_STD)

    def forward(self, ids: Tensor, last: Tensor) -> Tensor:
        """Scores of the classes, (B, C), of the choices, (B, W), or the number, (B, 1)."""
        return self.scores(self.gpt.read(ids), last)

    def scores(self, x: Tensor, last: Tensor) -> Tensor:
        states = x.unflatten(0, last.shape)  # (B, W, T, D)
        place = last[:, :, None, None].expand(-1, -1, 1, states.shape[-1])
        states = self.dropout(states.gather(2, place)[:, :, 0])  # (B, W, D)
        scores: Tensor
        if self.config.task == "choice":
            scores = self.head(states)[:, :, 0]
        else:
            scores = self.head(states.sum(1))
        return scores

    @torch.inference_mode()
    def task_scores(self, ids: Any, last: Any) -> Any:
        """The same from and to NumPy arrays, in evaluation mode: the interface that products use."""
        device = self.head.weight.device
        given = (torch.as_tensor(each, device=device) for each in (ids, last))
        return self.eval()(*given).float().cpu().numpy()

    def loss(self, batch: TaskBatch) -> Tensor:
        """The loss of the labels; in training also λ times the language model's loss (equation 5 of the paper)."""
        x = self.gpt.read(batch.text.ids)
        scores = self.scores(x, batch.last)
        if self.config.task == "value":
            loss = F.mse_loss(scores[:, 0], batch.answer)
        else:
            loss = F.cross_entropy(scores, batch.answer)
        if self.training and self.config.auxiliary:
            loss = loss + self.config.auxiliary * self.gpt.cross_entropy(x, batch.text)
        return loss
