"""Text encoders (BERT): all positions attend to all."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from qkv.engine.reference.attention import padding_mask
from qkv.engine.reference.block import Stack
from qkv.engine.reference.layers import Weights, look_up
from qkv.engine.rounding import Floats
from qkv.families.bert.config import EncoderConfig

AT_ONCE = 1_024  # positions in a batch, padding included


class NumpyEncoder:
    """Called like `TextEngine`, with the same results."""

    device = None  # arrays are NumPy's

    def __init__(
        self, config: EncoderConfig, weights: Mapping[str, Any], *, int8: bool, prefix: str = "encoder."
    ):
        own = Weights(weights, int8=int8, prefix=prefix)
        self.config = config
        self.tokens, self.positions, self.segments = (
            own[name] for name in ("tokens.weight", "positions.table", "segments.weight")
        )
        self.norm = own.norm("norm", config.stack.norm_eps)
        self.stack = Stack(own.inside("stack"), config.stack)

    def __call__(
        self,
        ids: Sequence[int],
        segments: Sequence[int],
        lengths: Sequence[int],
        pooling: Literal["each", "mean", "first"] = "each",
    ) -> Floats:
        """The states of concatenated texts: of each position, (N, D), or of each text, (texts, D)."""
        self.check(ids, segments, lengths)
        given = np.array([ids, segments])  # (2, N)
        firsts = np.cumsum([0, *lengths[:-1]])
        width = self.config.stack.width
        found = np.empty((len(ids) if pooling == "each" else len(lengths), width), dtype=np.float32)
        for rows in batches(lengths):
            counts = np.array([lengths[row] for row in rows])
            real = np.arange(counts.max()) < counts[:, None]  # (B, T)
            places = np.where(real, firsts[rows][:, None] + np.arange(counts.max()), 0)
            states = self.states(given[0, places], given[1, places], real)  # (B, T, D)
            if pooling == "each":
                found[places[real]] = states[real]
            elif pooling == "first":
                found[rows] = states[:, 0]
            else:
                found[rows] = (states * real[:, :, None]).sum(1) / counts[:, None].astype(np.float32)
        return found

    def states(self, ids: Any, segments: Any, real: Any) -> Floats:
        """(B, T) each; `real` is False for padding.  (B, T, D)"""
        embedded = look_up(self.tokens, ids) + look_up(self.segments, segments)
        return self.stack(self.norm(embedded + self.positions[: ids.shape[1]]), mask=padding_mask(real))

    def check(self, ids: Sequence[int], segments: Sequence[int], lengths: Sequence[int]) -> None:
        if not 0 < min(lengths) <= max(lengths) <= self.config.max_length:
            raise ValueError(f"a text must have from 1 to {self.config.max_length} tokens")
        if not len(ids) == len(segments) == sum(lengths):
            raise ValueError("the lengths of the texts do not add up")


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Texts of similar length, at most about `AT_ONCE` positions together."""
    groups: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        if not groups or (len(groups[-1]) + 1) * lengths[row] > AT_ONCE:
            groups.append([])
        groups[-1].append(row)
    return groups
