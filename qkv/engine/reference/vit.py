"""The Vision Transformer: an image as a sequence of patches."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qkv.engine.reference.block import Stack
from qkv.engine.reference.layers import Weights
from qkv.engine.reference.patches import patched
from qkv.engine.rounding import Floats
from qkv.families.vit.config import VitConfig


class NumpyVit:
    def __init__(self, config: VitConfig, weights: Mapping[str, Any], *, int8: bool = False):
        own = Weights(weights, int8=int8)
        self.config = config
        self.patches, self.head = own.linear("patches"), own.linear("head")
        self.class_token, self.positions = own["class_token"], own["positions.table"]
        self.stack = Stack(own.inside("stack"), config.stack)

    def logits(self, pictures: Floats) -> Floats:
        """(B, C, height, width) to (B, classes); black is −1 and white is 1."""
        cut = patched(pictures, self.config.patch)
        patches = self.patches(cut.reshape(len(cut), -1, cut.shape[-1]))  # (B, P, D)
        first = np.broadcast_to(self.class_token, (len(patches), 1, patches.shape[-1]))
        x = np.concatenate([first, patches], axis=1) + self.positions  # (B, 1 + P, D)
        return self.head(self.stack(x)[:, 0])
