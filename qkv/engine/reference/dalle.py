"""DALL-E: a caption and the codes of its image as one stream."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qkv.engine.reference.attention import causal_mask
from qkv.engine.reference.block import Stack
from qkv.engine.reference.cache import Cache
from qkv.engine.reference.functions import Ints
from qkv.engine.reference.layers import Weights, look_up
from qkv.engine.rounding import Floats
from qkv.families.dalle.config import DalleConfig


class NumpyDalle:
    device = None  # arrays are NumPy's

    def __init__(self, config: DalleConfig, weights: Mapping[str, Any], *, int8: bool = False):
        own = Weights(weights, int8=int8)
        self.config = config
        self.words, self.codes = own["words.weight"], own["codes.weight"]
        self.output = own.layer(self.codes, None)
        self.positions = own["positions.table"]
        grid = own["rows.table"][:, None] + own["columns.table"][None]  # (grid, grid, D)
        self.places = grid.reshape(config.area, -1)
        self.stack = Stack(own.inside("stack"), config.stack)

    def stream(self, captions: Ints, codes: Ints) -> Floats:
        """Embeddings of the start, a caption and the codes so far.  (B, 1 + places + codes, D)"""
        first = np.full((len(captions), 1), self.config.start)
        words = look_up(self.words, np.concatenate([first, captions], axis=1)) + self.positions
        return np.concatenate([words, self.picture_part(codes, 0)], axis=1)

    def picture_part(self, codes: Ints, before: int) -> Floats:
        """Embeddings of codes that follow `before` others.  (B, T) -> (B, T, D)"""
        return look_up(self.codes, codes) + self.places[before : before + codes.shape[1]]

    def read(self, x: Floats, cache: Cache | None = None) -> Floats:
        before = 0 if cache is None else cache.length
        mask = causal_mask(x.shape[1], before + x.shape[1])
        return self.stack(x * self.config.stack.width**0.5, mask=mask, cache=cache)

    def logits(self, captions: Ints, codes: Ints) -> Floats:
        """Logits of all codes of an image.  (B, places), (B, grid²) -> (B, grid², codes)"""
        y = self.read(self.stream(captions, codes[:, :-1]))
        return self.output(y[:, self.config.places :])

    def begin(self, captions: Ints) -> "NumpyDalleStep":
        return NumpyDalleStep(self, captions)


class NumpyDalleStep:
    """Draws the images of a batch of captions code by code (the Step protocol).

    The first ids are the last tokens of the captions; all that follow are codes.
    """

    def __init__(self, model: NumpyDalle, captions: Ints):
        self.model, self.captions = model, captions[:, :-1]
        self.cache = Cache(model.config.stack.depth)

    def __call__(self, ids: Any) -> Floats:
        """The newest ids, (B, T), in; logits of the next code, (B, codes), out."""
        new: Ints = np.asarray(ids)
        if self.cache.length == 0:
            x = self.model.stream(np.concatenate([self.captions, new], axis=1), new[:, :0])
        else:
            x = self.model.picture_part(new, self.cache.length - 1 - self.model.config.places)
        return self.model.output(self.model.read(x, self.cache)[:, -1])

    def select(self, rows: Any) -> None:
        self.captions = self.captions[rows]
        self.cache.select(rows)
