"""The engine of language models: a stream of tokens as a Step."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qkv.engine.library import library
from qkv.engine.packed_file import pack
from qkv.engine.packing import Weights
from qkv.engine.rounding import Floats
from qkv.engine.stepping import SteppingSession, check_ids
from qkv.families.gpt.config import GPTConfig, first_read


class GPTEngine:
    """A language model's weights, packed. `threads` share one reading. Steps take and return NumPy arrays."""

    device: None = None

    def __init__(
        self,
        config: GPTConfig,
        weights: Weights,
        *,
        int8: bool,
        threads: int,
        prefix: str = "",
    ):
        library()  # fail before packing weights if it is unavailable
        self.config, self.threads = config, threads
        self.packed = pack("gpt", config, weights, int8=int8, prefix=prefix)

    def begin(self) -> "GPTEngineStep":
        return GPTEngineStep(self)

    def states(self, ids: ArrayLike) -> Floats:
        """States of every position, before the output layer. (B, T) -> (B, T, D)"""
        return self.read(ids, states=True)

    def logits(self, ids: ArrayLike) -> Floats:
        """Logits of the token after every position. (B, T) -> (B, T, V)"""
        return self.read(ids, states=False)

    def read(self, ids: ArrayLike, *, states: bool) -> Floats:
        given: NDArray[Any] = np.asarray(ids)
        check_ids(given, self.config.vocab_size)
        if given.shape[1] > self.config.max_length:
            raise ValueError(f"{given.shape[1]} tokens are more than the context of {self.config.max_length}")
        return SteppingSession(self.packed, [[]] * len(given), self.threads).read(given, states=states)


class GPTEngineStep:
    """One reading of a batch of texts, token by token (the Step protocol). Its window slides like the model's."""

    def __init__(self, engine: GPTEngine):
        self.engine = engine
        self.session: SteppingSession | None = None
        self.first = 0  # index of the first token that the session has read
        self.ids: NDArray[Any] | None = None  # (B, length)

    @property
    def slid(self) -> bool:
        """Whether the window no longer includes the beginning of the text."""
        return self.first > 0

    def __call__(self, ids: ArrayLike) -> Floats:
        """Take the newest ids, (B, T), and return the logits of the next token, (B, V)."""
        config, given = self.engine.config, np.asarray(ids)
        check_ids(given, config.vocab_size)
        self.ids = given if self.ids is None else np.concatenate([self.ids, given], axis=1)
        first = first_read(self.ids.shape[1], config.max_length)
        if self.session is None or first > self.first:
            self.session = SteppingSession(self.engine.packed, [[]] * len(given), self.engine.threads)
            self.first, given = first, self.ids[:, first:]
        return self.session.step(given)

    def select(self, rows: ArrayLike) -> None:
        if self.session is not None and self.ids is not None:
            self.session.select(rows)
            self.ids = self.ids[np.asarray(rows)]
