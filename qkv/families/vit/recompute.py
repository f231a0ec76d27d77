"""The explorer's self-check of a ViT: recompute it in NumPy from the weights alone."""

import numpy as np

from qkv.tracing.formulas import Array, Stack, Weights, linear
from qkv.tracing.trace import Trace


def recompute(trace: Trace, weights: Weights) -> dict[str, Array]:
    found, side, size = dict[str, Array](), trace.side("stack"), trace.config["patch"]
    picture = np.asarray(trace.picture, dtype=np.float64)
    _, height, width = picture.shape
    cut = [
        picture[:, top : top + size, left : left + size].ravel()
        for top in range(0, height, size)
        for left in range(0, width, size)
    ]
    patches = linear(weights, "patches", np.stack(cut))
    tokens = np.concatenate([weights["class_token"][None], patches])
    positions = weights["positions.table"]
    found |= {"stack.patches": patches, "stack.tokens": tokens, "stack.positions": positions}
    x = found["stack.embedded"] = tokens + positions
    x = Stack(weights, "stack", side.stack, found, causal=False)(x)
    found["logits"] = linear(weights, "head", x[0])
    return found
