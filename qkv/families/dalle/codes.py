"""A bundle that turns images into grids of codes, and back."""

from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from qkv.checkpoint.bundle import Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.images import Bytes
from qkv.families.dalle.codebook import Codebook
from qkv.families.dalle.config import CodebookConfig
from qkv.runtime.pixels import AT_ONCE, as_input, as_pixels
from qkv.runtime.weights import build_model


class Codes:
    def __init__(self, model: Codebook):
        self.model = model

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        where = f"{bundle.folder}/config.json"
        config = from_dict(CodebookConfig, bundle.config.get("model"), where)
        return cls(build_model(Codebook, config, bundle))

    def save(self, folder: Path) -> None:
        save_bundle(folder, "codebook", {"model": to_dict(self.model.config)}, self.model.state_dict())

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config = self.model.config
        return {
            "kind": f"codebook of {config.codes} codes ({config.quantizer})",
            "parameters": f"{sum(p.numel() for p in self.model.parameters()):,}",
            "images": f"{config.side} × {config.side}, {config.grid} × {config.grid} codes",
        }

    @property
    def device(self) -> torch.device:
        """Where it computes; inputs and outputs are in CPU memory."""
        return next(self.model.parameters()).device

    @torch.inference_mode()
    def encode(self, pixels: Bytes) -> Tensor:
        """(N, C, side, side) -> (N, grid²)"""
        self.model.eval()
        parts = [
            self.model.encode(as_input(torch.from_numpy(pixels[start : start + AT_ONCE])).to(self.device))
            for start in range(0, len(pixels), AT_ONCE)
        ]
        return torch.cat(parts).cpu()

    @torch.inference_mode()
    def decode(self, ids: Tensor) -> Bytes:
        """(N, grid²) -> (N, C, side, side)"""
        self.model.eval()
        parts = [as_pixels(self.model.decode(part.to(self.device))) for part in ids.split(AT_ONCE)]
        return np.asarray(torch.cat(parts).cpu().numpy())
