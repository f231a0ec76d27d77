"""DALL-E (Ramesh et al., 2021): a caption and the codes of its image as one stream, read from left to right.

input   start  word 1 … last word  end  blank …  code 1  code 2 …
output  word 1 word 2 … end         –    …  code 1  code 2  code 3 …

A caption has a fixed number of positions. Unused ones hold a blank, which together with the learned position is a
vector of its own for each position, as in the paper. Codes have a row and a column instead of a position.
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from qkv.core.batch import move_batch
from qkv.core.block import Stack
from qkv.core.cache import Cache
from qkv.core.dropout import Dropout
from qkv.core.loss import output_cross_entropy
from qkv.core.masks import causal_mask
from qkv.core.positions import LearnedPositions
from qkv.core.tape import Tape, inside
from qkv.families.dalle.config import DalleConfig


@dataclass(frozen=True)
class CaptionedBatch:
    captions: Tensor  # (B, places) words, end, blanks; all blank if the caption is dropped
    codes: Tensor  # (B, grid²)
    real: Tensor  # (N) positions in the flattened captions that are not blank

    @classmethod
    def of(cls, captions: Tensor, codes: Tensor, pad: int) -> Self:
        return cls(captions, codes, (captions != pad).flatten().nonzero()[:, 0])

    def to(self, device: torch.device) -> Self:
        return move_batch(self, device)


class Dalle(nn.Module):
    def __init__(self, config: DalleConfig):
        super().__init__()
        self.config = config
        width = config.stack.width
        self.words = nn.Embedding(config.vocab_size, width)  # each table is also the output layer of its part
        self.codes = nn.Embedding(config.codes, width)
        for table in (self.words, self.codes):
            nn.init.normal_(table.weight, std=width**-0.5)
        self.positions = LearnedPositions(1 + config.places, width)
        self.rows = LearnedPositions(config.grid, width)
        self.columns = LearnedPositions(config.grid, width)
        self.dropout = Dropout(config.stack.dropout)
        self.stack = Stack(config.stack)

    def stream(self, captions: Tensor, codes: Tensor) -> Tensor:
        """Embeddings of the start, a caption and the codes so far.  (B, 1 + places + codes, D)"""
        first = captions.new_full((len(captions), 1), self.config.start)
        words = self.words(torch.cat([first, captions], dim=1)) + self.positions(0, 1 + captions.shape[1])
        return torch.cat([words, self.picture_part(codes, 0)], dim=1)

    def picture_part(self, codes: Tensor, before: int) -> Tensor:
        """Embeddings of codes that follow `before` others.  (B, T) -> (B, T, D)"""
        grid = self.config.grid
        places = (self.rows(0, grid)[:, None] + self.columns(0, grid)[None]).flatten(0, 1)  # (grid², D)
        embedded: Tensor = self.codes(codes) + places[before : before + codes.shape[1]]
        return embedded

    def read(self, x: Tensor, cache: Cache | None = None, tape: Tape | None = None) -> Tensor:
        before = 0 if cache is None else cache.length
        mask = causal_mask(x.shape[1], before + x.shape[1], x.device) if x.shape[1] > 1 else None
        if tape is not None:
            tape.record("embedded", x)
        y: Tensor = self.stack(
            self.dropout(x * self.config.stack.width**0.5), mask=mask, cache=cache, tape=inside(tape, "stack")
        )
        return y

    def hidden(self, captions: Tensor, codes: Tensor, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        """States that predict the words, (B, places, D), and the codes, (B, grid², D)."""
        y = self.read(self.stream(captions, codes[:, :-1]), tape=tape)
        places = self.config.places
        return y[:, :places], y[:, places:]

    def forward(self, captions: Tensor, codes: Tensor, tape: Tape | None = None) -> Tensor:
        """Logits of the codes.  (B, grid², codes)"""
        logits = self.hidden(captions, codes, tape)[1] @ self.codes.weight.T
        if tape is not None:
            tape.record("logits", logits)
        return logits

    def loss(self, batch: CaptionedBatch) -> Tensor:
        """Cross-entropy of words and of codes. As in the paper, codes weigh more."""
        smoothing = self.config.label_smoothing if self.training else 0.0
        word_states, code_states = self.hidden(batch.captions, batch.codes)
        picture = output_cross_entropy(
            code_states.flatten(0, 1), self.codes.weight, batch.codes.flatten(), smoothing
        )
        if not len(batch.real):  # every caption was dropped
            return (1 - self.config.text_share) * picture
        rows, targets = word_states.flatten(0, 1)[batch.real], batch.captions.flatten()[batch.real]
        words = output_cross_entropy(rows, self.words.weight, targets, smoothing)
        return self.config.text_share * words + (1 - self.config.text_share) * picture

    @property
    def device(self) -> torch.device:
        return self.codes.weight.device

    @torch.inference_mode()
    def logits(self, captions: Any, codes: Any) -> Any:
        """`forward` from and to NumPy arrays, in evaluation mode."""
        given = (torch.from_numpy(each).to(self.device) for each in (captions, codes))
        return self.eval()(*given).float().cpu().numpy()

    def begin(self, captions: Tensor) -> "DalleStep":
        """Start to draw. The model is put in evaluation mode."""
        return DalleStep(self.eval(), captions)


class DalleStep:
    """Draws the images of a batch of captions code by code (the Step protocol).

    The first ids are the last tokens of the captions; all that follow are codes.
    """

    def __init__(self, model: Dalle, captions: Tensor):
        self.model, self.captions = model, captions[:, :-1]
        self.cache = Cache(model.config.stack.depth)

    @torch.no_grad()
    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the next code, (B, codes), out."""
        drawn = self.cache.length - 1 - self.model.config.places
        if self.cache.length == 0:
            x = self.model.stream(torch.cat([self.captions, ids], dim=1), ids[:, :0])
        else:
            x = self.model.picture_part(ids, drawn)
        return self.model.read(x, self.cache)[:, -1] @ self.model.codes.weight.T

    def select(self, rows: Tensor) -> None:
        self.captions = self.captions[rows]
        self.cache.select(rows)
