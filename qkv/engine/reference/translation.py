"""What NumPy translation models have in common: decoding of a batch of sources as a Step."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from qkv.core.translation import CrossHeads, TranslationConfig
from qkv.engine.reference.attention import Watch
from qkv.engine.reference.functions import Ints, Mask
from qkv.engine.rounding import Floats


class Selectable(Protocol):
    """The state of a decoding between steps."""

    def select(self, rows: Any) -> None: ...  # keep these rows of the batch, in this order


class NumpyTranslationModel:
    """Sources in, target logits out, in NumPy."""

    device = None  # arrays are NumPy's
    config: TranslationConfig

    def encode(self, source: Ints, real: Mask) -> Any:
        """The memory that the decoder attends to, (B, S, …)."""
        raise NotImplementedError

    def decode(self, ids: Ints, memory: Any, real: Mask, cache: Any, watch: Watch | None) -> Floats:
        """States of the ids that follow those in the cache, before the output layer. (B, T, D)"""
        raise NotImplementedError

    def new_cache(self) -> Selectable:
        raise NotImplementedError

    def output(self, x: Floats) -> Floats:
        """(…, D) -> (…, V)"""
        raise NotImplementedError

    def begin(self, sources: Sequence[Sequence[int]], look: CrossHeads | None = None) -> "TranslationStep":
        """Begin to decode sources, each with its end token. `look` names the heads whose attention is recorded."""
        return TranslationStep(self, sources, look)


class TranslationStep:
    """Decodes a batch of sources token by token (the Step protocol)."""

    def __init__(
        self, model: NumpyTranslationModel, sources: Sequence[Sequence[int]], look: CrossHeads | None
    ):
        self.model, self.look = model, look
        source, self.real = padded_sources(sources, model.config.pad)  # (B, S) each
        self.memory = model.encode(source, self.real)
        self.cache = model.new_cache()
        self.newest: Floats | None = None  # (B, S) attention of the last call

    def __call__(self, ids: Any) -> Floats:
        """The newest ids, (B, T), in; logits of the next token, (B, V), out."""
        watch = None if self.look is None else Watch(self.look.block)
        x = self.model.decode(np.asarray(ids), self.memory, self.real, self.cache, watch)
        if self.look is not None and watch is not None and watch.weights is not None:
            self.newest = watch.weights[:, list(self.look.heads), -1].mean(1)
        return self.model.output(x[:, -1])

    @property
    def attention(self) -> Floats:
        """Attention of the last call, (B, S); padding counts as fully attended to."""
        if self.newest is None:
            raise ValueError("attention is available only after a step that was begun with heads")
        return np.where(self.real, self.newest, np.float32(1))

    def select(self, rows: Any) -> None:
        self.memory, self.real = self.memory[rows], self.real[rows]
        self.cache.select(rows)
        self.newest = None if self.newest is None else self.newest[rows]


def padded_sources(sources: Sequence[Sequence[int]], pad: int) -> tuple[Ints, Mask]:
    """Ids, and which of them are not padding.  (B, S) each"""
    if not all(len(source) for source in sources):
        raise ValueError("a source sentence has no tokens")
    lengths = np.array([len(source) for source in sources])
    ids = np.full((len(sources), lengths.max()), pad, dtype=np.int64)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = source
    return ids, np.arange(lengths.max()) < lengths[:, None]
