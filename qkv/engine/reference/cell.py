"""The SSRU cell in place of a decoder's self-attention. `qkv.core.cell` has the formula."""

import numpy as np

from qkv.engine.reference.cache import CellState
from qkv.engine.reference.functions import relu, sigmoid
from qkv.engine.reference.layers import Weights
from qkv.engine.rounding import Floats


class SSRU:
    def __init__(self, weights: Weights):
        self.input = weights.layer(weights["input.weight"], None)
        self.forget = weights.linear("forget")

    def __call__(self, x: Floats, *, cache: CellState | None = None) -> Floats:
        new, keep = self.input(x), sigmoid(self.forget(x))  # (B, T, D)
        states = np.empty_like(new)
        state = np.zeros_like(new[:, 0]) if cache is None or cache.state is None else cache.state
        for position in range(x.shape[1]):
            states[:, position] = state = keep[:, position] * (state - new[:, position]) + new[:, position]
        if cache is not None:
            cache.update(states)
        return relu(states)
