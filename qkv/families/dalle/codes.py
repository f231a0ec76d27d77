"""A bundle that turns images into grids of codes, and back."""

import math
from pathlib import Path
from typing import Any, Self

import numpy as np

from qkv.checkpoint.bundle import Bundle, save_bundle
from qkv.configs import from_dict, to_saved
from qkv.data.images import Bytes, Form, is_image, picture_from
from qkv.engine.reference.functions import Ints
from qkv.errors import InputError, InputTypeError
from qkv.families.dalle.config import CodebookConfig
from qkv.families.dalle.runner import CodebookRunner, build_codebook, open_codebook
from qkv.runtime.inputs import Accepts
from qkv.runtime.model import Model
from qkv.runtime.network import Network, network_of
from qkv.runtime.pixels import AT_ONCE, as_input, as_pixels
from qkv.runtime.running import DEFAULT_RUNNING, Running, Warn, silent


class Codebook(Model):
    """A codebook: it turns images into grids of codes, and codes into images.

    Example:
        >>> codebook = qkv.load("runs/codebook")
        >>> codes = codebook.encode(np.zeros((2, 3, 8, 8), np.uint8))
        >>> codes.shape
        (2, 4)
        >>> codebook.decode(codes).shape
        (2, 3, 8, 8)
    """

    _what = "a codebook"
    _does = ("encode", "decode")

    def __init__(self, runner: CodebookRunner, network: Network[CodebookConfig, Any] | None = None):
        """Models are opened with `qkv.load`; this is for code that builds them.

        Args:
            runner: What computes the model: NumPy, or a torch model.
            network: Config and weights of the model; not needed if the runner is a torch model.
        """
        self._runner = runner
        self._network = Network.of(runner) if network is None else network

    def _summary(self) -> str:
        config = self.config
        return f"{config.codes} codes, {config.side} × {config.side} pixels"

    @classmethod
    def from_bundle(cls, bundle: Bundle, running: Running = DEFAULT_RUNNING, warn: Warn = silent) -> Self:
        where = f"{bundle.folder}/config.json"
        config = from_dict(CodebookConfig, bundle.config.get("model"), where)
        network = network_of(bundle, config, build_codebook)
        return cls(open_codebook(network, running), network)

    def to_bundle(self, folder: Path) -> None:
        save_bundle(folder, "codebook", {"model": to_saved(self.config)}, self._network.weights)

    def info(self) -> dict[str, str]:
        config = self.config
        return {
            "kind": f"codebook of {config.codes} codes ({config.quantizer})",
            "parameters": f"{self._network.parameters:,}",
            "images": f"{config.side} × {config.side}, {config.grid} × {config.grid} codes",
        }

    def encode(self, images: Any) -> Ints:
        """The codes of images.

        Args:
            images: An image or a list of images: paths, images of Pillow or arrays, of the codebook's size. Or an array of bytes,
                (N, channels, side, side).

        Returns:
            The codes of an image, (grid²), or of many, (N, grid²).

        Example:
            >>> qkv.load("runs/codebook").encode(PIL.Image.new("RGB", (8, 8))).shape
            (4,)
        """
        form = Form(self.config.side, self.config.side, "colour")
        if getattr(images, "ndim", 0) == 4 and getattr(images, "dtype", None) == np.uint8:
            return self._encode(images)

        def many(part: list[Any]) -> Ints:
            pixels = [
                picture_from(each, form, fit=False, name=f"images[{number}]")
                for number, each in enumerate(part)
            ]
            return self._encode(np.stack(pixels))

        found: Ints = IMAGES.apply(images, many, collect=lambda codes: codes)
        return found

    def _encode(self, pixels: Bytes) -> Ints:
        """(N, C, side, side) -> (N, grid²)"""
        parts = [
            self._runner.codes_of(as_input(pixels[start : start + AT_ONCE]))
            for start in range(0, len(pixels), AT_ONCE)
        ]
        return np.concatenate(parts)

    def decode(self, codes: Ints) -> Bytes:
        """The images of codes.

        Args:
            codes: The codes of an image, (grid²), or of many, (N, grid²).

        Returns:
            Bytes, (channels, side, side) or (N, channels, side, side).

        Example:
            >>> qkv.load("runs/codebook").decode(np.zeros(4, int)).shape
            (3, 8, 8)
        """
        ids = np.asarray(codes)
        check_codes(ids, self.config)
        if ids.ndim == 1:
            alone: Bytes = self.decode(ids[None])[0]
            return alone
        parts = [
            as_pixels(self._runner.pictures_of(ids[start : start + AT_ONCE]))
            for start in range(0, len(ids), AT_ONCE)
        ]
        return np.concatenate(parts)


def check_codes(ids: np.ndarray, config: CodebookConfig) -> None:
    if ids.dtype.kind not in "iu":
        raise InputTypeError(f"codes has the type {ids.dtype}; expected whole numbers.")
    wanted = config.grid**2
    if ids.ndim not in (1, 2) or ids.shape[-1] != wanted:
        raise InputError(f"codes has the shape {ids.shape}; expected ({wanted},) or (N, {wanted}).")
    if ids.size and not 0 <= ids.min() <= ids.max() < config.codes:
        wrong = int(ids.max() if ids.min() >= 0 else ids.min())
        raise InputError(f"codes has {wrong}, but this model has the codes 0 to {config.codes - 1}.")


IMAGES: Accepts[Any] = Accepts(
    method="encode",
    argument="images",
    what="an image, a list of images or an iterator of images",
    item="a path, a Pillow image or an array",
    is_one=is_image,
    kind="image",
    read=lambda value: value if is_image(value) else None,
)


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
