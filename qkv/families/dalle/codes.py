"""A bundle that turns images into grids of codes, and back."""

import math
from pathlib import Path
from typing import Any, Self

import numpy as np

from qkv.checkpoint.bundle import Bundle, save_bundle
from qkv.configs import from_dict, to_dict
from qkv.data.images import Bytes
from qkv.engine.reference.functions import Ints
from qkv.families.dalle.config import CodebookConfig
from qkv.families.dalle.runner import CodebookRunner, build_codebook, open_codebook
from qkv.runtime.network import Network, network_of
from qkv.runtime.pixels import AT_ONCE, as_input, as_pixels
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent


class Codebook:
    def __init__(self, runner: CodebookRunner, network: Network[CodebookConfig, Any] | None = None):
        """`network` has the config and weights; it is not needed if the runner is a torch model."""
        self.runner = runner
        self.network = Network.of(runner) if network is None else network

    @property
    def config(self) -> CodebookConfig:
        return self.network.config

    @property
    def model(self) -> Any:
        """The same model in torch, for training."""
        return self.network.model

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        where = f"{bundle.folder}/config.json"
        config = from_dict(CodebookConfig, bundle.config.get("model"), where)
        network = network_of(bundle, config, build_codebook)
        return cls(open_codebook(network, running), network)

    def save(self, folder: Path) -> None:
        save_bundle(folder, "codebook", {"model": to_dict(self.config)}, self.network.weights)

    def facts(self) -> dict[str, str]:
        """What it is, for `qkv info`."""
        config = self.config
        return {
            "kind": f"codebook of {config.codes} codes ({config.quantizer})",
            "parameters": f"{self.network.parameters:,}",
            "images": f"{config.side} × {config.side}, {config.grid} × {config.grid} codes",
        }

    def encode(self, pixels: Bytes) -> Ints:
        """(N, C, side, side) -> (N, grid²)"""
        parts = [
            self.runner.codes_of(as_input(pixels[start : start + AT_ONCE]))
            for start in range(0, len(pixels), AT_ONCE)
        ]
        return np.concatenate(parts)

    def decode(self, ids: Ints) -> Bytes:
        """(N, grid²) -> (N, C, side, side)"""
        parts = [
            as_pixels(self.runner.pictures_of(ids[start : start + AT_ONCE]))
            for start in range(0, len(ids), AT_ONCE)
        ]
        return np.concatenate(parts)


def reconstruction(codes: Codebook, pictures: Bytes) -> dict[str, float]:
    """The error of images that were encoded and decoded, and how many of the codes they use."""
    ids = codes.encode(pictures)
    error = float((((codes.decode(ids).astype(np.float64) - pictures) / 255) ** 2).mean())
    shares = np.bincount(ids.ravel(), minlength=codes.config.codes) / ids.size
    used = shares[shares > 0]
    return {
        "rmse": round(math.sqrt(error), 5),
        "psnr": round(-10 * math.log10(max(error, 1e-12)), 3),
        "used": len(used),
        "perplexity": round(math.exp(-float((used * np.log(used)).sum())), 2),
    }
