"""The engine of a language model: a stream of tokens as a Step."""

import torch
from torch import Tensor

from qkv.engine.library import library
from qkv.engine.packing import Packed
from qkv.engine.session import Session, check_ids
from qkv.families.gpt.model import GPT, first_read


class GPTEngine:
    """A language model's weights, packed. `threads` share one reading."""

    def __init__(self, model: GPT, *, int8: bool, threads: int):
        library()  # where it cannot be had, that is known before weights are packed
        self.config, self.threads = model.config, threads
        self.packed = Packed.gpt(model, int8=int8)

    def begin(self) -> "GPTEngineStep":
        return GPTEngineStep(self)


class GPTEngineStep:
    """One reading of a batch of texts, token by token (the Step protocol); windows slide as those of the model do."""

    def __init__(self, engine: GPTEngine):
        self.engine = engine
        self.session: Session | None = None
        self.first = 0  # of the tokens that the session has read
        self.said: Tensor | None = None  # (B, length)

    @property
    def slid(self) -> bool:
        """Was the beginning of the text forgotten?"""
        return self.first > 0

    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the token after the last of them, (B, V), out."""
        config = self.engine.config
        check_ids(ids, config.vocab_size)
        self.said = ids if self.said is None else torch.cat([self.said, ids], dim=1)
        first = first_read(self.said.shape[1], config.max_length)
        if self.session is None or first > self.first:
            self.session = Session(self.engine.packed, [[]] * len(ids), self.engine.threads)
            self.first, ids = first, self.said[:, first:]
        return self.session.step(ids)

    def select(self, rows: Tensor) -> None:
        if self.session is not None and self.said is not None:
            self.session.select(rows)
            self.said = self.said[rows]
