"""The Vision Transformer (Dosovitskiy et al., 2021): an image is a sequence of patches.

image ─► patches ─► linear map ─► [class token, patch 1, patch 2, …] + learned positions ─► blocks ─► norm
                                        └────────────────────────────────────────────────► head ─► logits
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.core.block import Stack
from qkv.core.dropout import Dropout
from qkv.core.positions import LearnedPositions
from qkv.core.tape import Tape, inside
from qkv.families.vit.config import VitConfig


@dataclass(frozen=True)
class PictureBatch:
    pictures: Tensor  # (B, C, height, width), black is −1 and white is 1
    classes: Tensor  # (B)

    def to(self, device: torch.device) -> Self:
        return type(self)(self.pictures.to(device), self.classes.to(device))


def patches_of(pictures: Tensor, size: int) -> Tensor:
    """Patches row by row, each flattened to one vector with its channels in turn.  (B, C, height, width) -> (B, P, C·size²)"""
    rows = pictures.unflatten(3, (-1, size)).unflatten(2, (-1, size))  # (B, C, down, size, across, size)
    return rows.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class Vit(nn.Module):
    def __init__(self, config: VitConfig):
        super().__init__()
        self.config = config
        width = config.stack.width
        self.patches = nn.Linear(config.channels * config.patch**2, width)
        nn.init.xavier_uniform_(self.patches.weight)
        nn.init.zeros_(self.patches.bias)
        self.class_token = nn.Parameter(torch.randn(width) * 0.02)
        self.positions = LearnedPositions(1 + config.patches, width)
        self.dropout = Dropout(config.stack.dropout)
        self.stack = Stack(config.stack)
        self.head = nn.Linear(width, config.classes)
        nn.init.zeros_(self.head.weight)  # all classes start equally likely
        nn.init.zeros_(self.head.bias)

    def embed(self, pictures: Tensor, tape: Tape | None = None) -> Tensor:
        patches = self.patches(patches_of(pictures, self.config.patch))  # (B, P, D)
        first = self.class_token.expand(len(patches), 1, -1)
        tokens = torch.cat([first, patches], dim=1)  # (B, 1 + P, D)
        total = tokens + self.positions(0, tokens.shape[1])
        if tape is not None:
            for name, tensor in [("patches", patches), ("tokens", tokens), ("embedded", total)]:
                tape.record(name, tensor)
        embedded: Tensor = self.dropout(total)
        return embedded

    def forward(self, pictures: Tensor, tape: Tape | None = None) -> Tensor:
        x = self.stack(self.embed(pictures, tape), tape=inside(tape, "stack"))
        logits: Tensor = self.head(x[:, 0])  # (B, classes)
        if tape is not None:
            tape.record("logits", logits)
        return logits

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    @torch.inference_mode()
    def logits(self, pictures: Any) -> Any:
        """The same from and to NumPy arrays, in evaluation mode: the interface that products use."""
        given = torch.from_numpy(pictures).to(self.head.weight)  # device and number format
        return self.eval()(given).float().cpu().numpy()

    def loss(self, batch: PictureBatch) -> Tensor:
        """Mean cross-entropy per image, with label smoothing in validation too.

        Otherwise validation would prefer the most confident snapshot, not the most accurate one.
        """
        return F.cross_entropy(
            self(batch.pictures), batch.classes, label_smoothing=self.config.label_smoothing
        )
