"""Image files for tests."""

import gzip
import struct
from pathlib import Path

import numpy as np
from PIL import Image


def saved(path: Path, mode: str = "RGB", size: tuple[int, int] = (8, 6), seed: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(values).convert(mode).save(path)
    return path


def write_idx(path: Path, values: np.ndarray) -> None:  # type: ignore[type-arg]
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    content = head + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
