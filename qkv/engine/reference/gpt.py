"""Language models: each token attends to itself and to the tokens before it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qkv.engine.positions import rotations
from qkv.engine.reference.attention import causal_mask
from qkv.engine.reference.block import Stack
from qkv.engine.reference.cache import Cache
from qkv.engine.reference.functions import Ints
from qkv.engine.reference.layers import Weights, look_up
from qkv.engine.reference.positions import rows_between
from qkv.engine.rounding import Floats
from qkv.families.gpt.config import GPTConfig, first_read


class NumpyGPT:
    device = None  # arrays are NumPy's

    def __init__(self, config: GPTConfig, weights: Mapping[str, Any], *, int8: bool, prefix: str = ""):
        own = Weights(weights, int8=int8, prefix=prefix)
        stack = config.stack
        self.config = config
        self.tokens = own["tokens.weight"]
        self.output_layer = own.layer(self.tokens, None)
        learned = config.positions == "learned"
        self.positions = own["positions.table"] if learned else None
        self.rotation = None if learned else rotations(config.max_length, stack.width // stack.heads)
        self.stack = Stack(own.inside("stack"), stack)

    def states(self, ids: Any, cache: Cache | None = None) -> Floats:
        """States of the ids, (B, T), that follow those in the cache, before the output layer. (B, T, D)"""
        start, length = (0 if cache is None else cache.length), np.shape(ids)[1]
        x = look_up(self.tokens, ids)
        positions = rows_between(self.positions, start, length)
        return self.stack(
            x if positions is None else x + positions,
            mask=causal_mask(length, start + length),
            rotation=rows_between(self.rotation, start, length),
            cache=cache,
        )

    def output(self, x: Floats) -> Floats:
        """(…, D) -> (…, V)"""
        return self.output_layer(x)

    def logits(self, ids: Any) -> Floats:
        """Logits of the token after every position. (B, T) -> (B, T, V)"""
        return self.output(self.states(ids))

    def begin(self) -> "NumpyGPTStep":
        return NumpyGPTStep(self)


class NumpyGPTStep:
    """Reads a batch of texts token by token (the Step protocol), without a length limit."""

    def __init__(self, model: NumpyGPT):
        self.model = model
        self.cache = Cache(model.config.stack.depth)
        self.first = 0  # position of the first token in the cache
        self.ids: Ints | None = None  # (B, length)

    @property
    def slid(self) -> bool:
        """Whether the beginning of the text was dropped."""
        return self.first > 0

    def __call__(self, ids: Any) -> Floats:
        """The newest ids, (B, T), in; logits of the next token, (B, V), out."""
        new: Ints = np.asarray(ids)
        self.ids = new if self.ids is None else np.concatenate([self.ids, new], axis=1)
        first = first_read(self.ids.shape[1], self.model.config.max_length)
        if first > self.first:
            self.first, self.cache = first, Cache(self.model.config.stack.depth)
            new = self.ids[:, first:]
        return self.model.output(self.model.states(new, self.cache)[:, -1])

    def select(self, rows: Any) -> None:
        self.cache.select(rows)
        self.ids = None if self.ids is None else self.ids[rows]
