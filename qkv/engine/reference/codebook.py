"""The discrete autoencoder of DALL-E: images to grids of codes, and back. Images are kept as (B, height, width, C)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from qkv.engine.reference.functions import Ints, gelu
from qkv.engine.reference.layers import Linear, Weights
from qkv.engine.reference.patches import patched, unpatched
from qkv.engine.rounding import Floats
from qkv.families.dalle.config import CodebookConfig


class Convolution:
    """A convolution as one matrix product: every position with its neighbors is a row. The border is 0."""

    def __init__(self, weights: Weights, name: str):
        weight = weights[f"{name}.weight"]  # (outputs, inputs, size, size)
        self.size = weight.shape[2]
        self.linear = Linear(weight.reshape(len(weight), -1), weights[f"{name}.bias"])

    def __call__(self, x: Floats) -> Floats:
        border = self.size // 2
        wide = np.pad(x, ((0, 0), (border, border), (border, border), (0, 0)))
        near = np.lib.stride_tricks.sliding_window_view(wide, (self.size, self.size), axis=(1, 2))
        return self.linear(near.reshape(*x.shape[:3], -1))  # (B, height, width, C · size²)


class Convolved:
    """A pair of convolutions with a shortcut."""

    def __init__(self, weights: Weights, name: str):
        self.first, self.second = (Convolution(weights, f"{name}.{each}") for each in ("first", "second"))

    def __call__(self, x: Floats) -> Floats:
        return x + self.second(gelu(self.first(gelu(x))))


class Lattice:
    """Each number is rounded to the nearest of a few levels; a combination of levels is a code."""

    def __init__(self, levels: tuple[int, ...]):
        self.levels = np.array(levels)
        self.steps = np.array([math.prod(levels[:place]) for place in range(len(levels))])

    def ids(self, x: Floats) -> Ints:
        places = np.rint((np.tanh(x) + 1) / 2 * (self.levels - 1).astype(np.float32)).astype(np.int64)
        return (places * self.steps).sum(-1)

    def values(self, ids: Ints) -> Floats:
        places = (ids[..., None] // self.steps % self.levels).astype(np.float32)
        return 2 * places / (self.levels - 1).astype(np.float32) - 1


class Vectors:
    """The code with the highest score. A code is a learned vector."""

    def __init__(self, vectors: Floats):
        self.vectors = vectors

    def ids(self, scores: Floats) -> Ints:
        return scores.argmax(-1)

    def values(self, ids: Ints) -> Floats:
        return self.vectors[ids]


class NumpyCodebook:
    """Always float32: convolutions have no int8 arithmetic."""

    def __init__(self, config: CodebookConfig, weights: Mapping[str, Any]):
        own, depth = Weights(weights, int8=False), config.depth
        self.config = config
        self.first = Convolution(own, "encoder.1")
        self.reading = [Convolved(own, f"encoder.{2 + each}") for each in range(depth)]
        self.scores = Convolution(own, f"encoder.{3 + depth}")
        self.choice: Lattice | Vectors = (
            Lattice(config.levels) if config.quantizer == "lattice" else Vectors(own["choice.vectors"])
        )
        self.begun = Convolution(own, "decoder.0")
        self.drawing = [Convolved(own, f"decoder.{1 + each}") for each in range(depth)]
        self.last = Convolution(own, f"decoder.{2 + depth}")

    def codes_of(self, pictures: Floats) -> Ints:
        """Row by row.  (B, C, side, side) -> (B, grid²)"""
        x = self.first(patched(pictures, self.config.patch))
        for pair in self.reading:
            x = pair(x)
        return self.choice.ids(self.scores(gelu(x))).reshape(len(pictures), -1)

    def pictures_of(self, codes: Ints) -> Floats:
        """(B, grid²) -> (B, C, side, side)"""
        x = self.begun(self.choice.values(codes.reshape(len(codes), self.config.grid, -1)))
        for pair in self.drawing:
            x = pair(x)
        return np.clip(unpatched(self.last(gelu(x)), self.config.patch), -1, 1)
