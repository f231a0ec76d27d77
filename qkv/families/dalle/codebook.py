"""The discrete autoencoder of DALL-E: images to small grids of codes, and back.

image ─► patches ─► convolutions ─► one of N codes per position ─► convolutions ─► patches ─► image

There are two quantizers. "gumbel": the encoder scores every code and one is sampled with noise, so that the choice
has a gradient (the paper's discrete VAE). "lattice": each of the encoder's few numbers is rounded to one of a few
levels; a combination of levels is a code (finite scalar quantization, Mentzer et al., 2023).
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.families.dalle.config import CodebookConfig


@dataclass(frozen=True)
class Pixels:
    pictures: Tensor  # (B, C, side, side), black is −1 and white is 1

    def to(self, device: torch.device) -> Self:
        return type(self)(self.pictures.to(device))


class Convolved(nn.Module):
    """A pair of convolutions with a shortcut."""

    def __init__(self, width: int):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        nn.init.zeros_(self.second.weight)  # starts as the identity

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = x + self.second(F.gelu(self.first(F.gelu(x))))
        return y


class Lattice(nn.Module):
    """Rounds each number to the nearest of a few levels, with a straight-through gradient."""

    levels: Tensor
    steps: Tensor

    def __init__(self, levels: tuple[int, ...]):
        super().__init__()
        self.register_buffer("levels", torch.tensor(levels, dtype=torch.float32), persistent=False)
        steps = torch.tensor([math.prod(levels[:place]) for place in range(len(levels))])
        self.register_buffer("steps", steps, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(…, numbers) to values between −1 and 1, each one of its levels."""
        scaled = (x.tanh() + 1) / 2 * (self.levels - 1)
        rounded = scaled + (scaled.round() - scaled).detach()
        return 2 * rounded / (self.levels - 1) - 1

    def ids(self, x: Tensor) -> Tensor:
        places = ((x.tanh() + 1) / 2 * (self.levels - 1)).round().long()
        return (places * self.steps).sum(-1)

    def values(self, ids: Tensor) -> Tensor:
        places = ids[..., None] // self.steps % self.levels.long()
        return 2 * places / (self.levels - 1) - 1


class Noisy(nn.Module):
    """Chooses a code by its score, in training at random (Gumbel-softmax). A code is a learned vector."""

    def __init__(self, codes: int, width: int, temperature: float):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(codes, width))
        self.temperature = temperature

    def forward(self, scores: Tensor) -> Tensor:
        if self.training:
            chosen = F.gumbel_softmax(scores, tau=self.temperature, hard=True)
        else:
            chosen = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)
        return chosen @ self.vectors

    def ids(self, scores: Tensor) -> Tensor:
        return scores.argmax(-1)

    def values(self, ids: Tensor) -> Tensor:
        return self.vectors[ids]


class CodebookModel(nn.Module):
    def __init__(self, config: CodebookConfig):
        super().__init__()
        self.config = config
        patch, width = config.channels * config.patch**2, config.width
        lattice = config.quantizer == "lattice"
        chosen_from = len(config.levels) if lattice else config.codes
        self.encoder = nn.Sequential(
            nn.PixelUnshuffle(config.patch),
            nn.Conv2d(patch, width, 3, padding=1),
            *(Convolved(width) for _ in range(config.depth)),
            nn.GELU(),
            nn.Conv2d(width, chosen_from, 1),
        )
        self.choice: Lattice | Noisy = (
            Lattice(config.levels) if lattice else Noisy(config.codes, width, config.temperature)
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(len(config.levels) if lattice else width, width, 3, padding=1),
            *(Convolved(width) for _ in range(config.depth)),
            nn.GELU(),
            nn.Conv2d(width, patch, 3, padding=1),
            nn.PixelShuffle(config.patch),
        )

    def forward(self, pictures: Tensor) -> Tensor:
        """Images reconstructed from their codes."""
        chosen = self.choice(self.scores(pictures))  # (B, down, across, …)
        rebuilt: Tensor = self.decoder(chosen.permute(0, 3, 1, 2))
        return rebuilt

    def scores(self, pictures: Tensor) -> Tensor:
        return self.encoder(pictures).permute(0, 2, 3, 1)

    def encode(self, pictures: Tensor) -> Tensor:
        """Row by row.  (B, C, side, side) -> (B, grid²)"""
        return self.choice.ids(self.scores(pictures)).flatten(1)

    def decode(self, ids: Tensor) -> Tensor:
        """(B, grid²) -> (B, C, side, side)"""
        values = self.choice.values(ids.unflatten(1, (self.config.grid, -1)))
        rebuilt: Tensor = self.decoder(values.permute(0, 3, 1, 2))
        return rebuilt.clamp(-1, 1)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @torch.inference_mode()
    def codes_of(self, pictures: Any) -> Any:
        """`encode` from and to NumPy arrays, in evaluation mode."""
        given = torch.from_numpy(pictures).to(next(self.parameters()))  # device and number format
        return self.eval().encode(given).cpu().numpy()

    @torch.inference_mode()
    def pictures_of(self, codes: Any) -> Any:
        """`decode` from and to NumPy arrays, in evaluation mode."""
        return self.eval().decode(torch.from_numpy(codes).to(self.device)).float().cpu().numpy()

    def loss(self, batch: Pixels) -> Tensor:
        """Absolute plus squared error of pixels: the former keeps edges sharp, the latter finds them."""
        off = self(batch.pictures) - batch.pictures
        return off.abs().mean() + off.square().mean()
