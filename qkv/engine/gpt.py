"""The engine of language models: a stream of tokens as a Step."""

import torch
from torch import Tensor

from qkv.engine.library import library
from qkv.engine.packing import Packed
from qkv.engine.session import Session, check_ids
from qkv.families.gpt.model import GPT, first_read


class GPTEngine:
    """A language model's weights, packed. `threads` share one reading."""

    def __init__(self, model: GPT, *, int8: bool, threads: int):
        library()  # fail before packing weights if it is unavailable
        self.config, self.threads = model.config, threads
        self.packed = Packed.gpt(model, int8=int8)

    def begin(self) -> "GPTEngineStep":
        return GPTEngineStep(self)


class GPTEngineStep:
    """One reading of a batch of texts, token by token (the Step protocol). Its window slides like the model's."""

    def __init__(self, engine: GPTEngine):
        self.engine = engine
        self.session: Session | None = None
        self.first = 0  # index of the first token that the session has read
        self.ids: Tensor | None = None  # (B, length)

    @property
    def slid(self) -> bool:
        """Whether the window no longer includes the beginning of the text."""
        return self.first > 0

    def __call__(self, ids: Tensor) -> Tensor:
        """Take the newest ids, (B, T), and return the logits of the next token, (B, V)."""
        config = self.engine.config
        check_ids(ids, config.vocab_size)
        self.ids = ids if self.ids is None else torch.cat([self.ids, ids], dim=1)
        first = first_read(self.ids.shape[1], config.max_length)
        if self.session is None or first > self.first:
            self.session = Session(self.engine.packed, [[]] * len(ids), self.engine.threads)
            self.first, ids = first, self.ids[:, first:]
        return self.session.step(ids)

    def select(self, rows: Tensor) -> None:
        if self.session is not None and self.ids is not None:
            self.session.select(rows)
            self.ids = self.ids[rows]
