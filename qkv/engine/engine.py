"""The engine: one decoding of a batch as a Step, and greedy and beam search without a way back to Python."""

import ctypes
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from qkv.core.pairs import CrossHeads
from qkv.decoding.beam import LengthPenalty
from qkv.decoding.step import Hypothesis
from qkv.engine.library import WishStruct, library
from qkv.engine.packing import Packed
from qkv.models.translator import Translator, TranslatorConfig

Batch = tuple[Sequence[Sequence[int]], Sequence[int]]  # sources, and the most ids that each may get


TOGETHER = 1_024  # tokens that are decoded together at most: what they need stays in a core's cache
FEW = 8  # sentences that are not worth being shared out


@dataclass(frozen=True, kw_only=True)
class PlainSearch:
    """What the compiled search can do: greedy with a width of 1, else a beam; nothing else rules what is said."""

    width: int
    penalty: LengthPenalty
    best: int = 1
    patience: int = 0
    """Stop when so many have ended; 0: when nothing better can come."""
    least: int = 1
    """No answer ends before it has so many ids."""


class Engine:
    """A translator's weights, packed. `threads` share one decoding."""

    def __init__(self, model: Translator, *, int8: bool, threads: int):
        self.library, self.config, self.threads = library(), model.config, threads
        self.packed = Packed.translator(model, int8=int8)

    def begin(self, source: Tensor, look: CrossHeads | None = None) -> "EngineStep":
        sentences = [row[: int((row != self.config.pad).sum())].tolist() for row in source]
        return EngineStep(self, sentences, look)

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source (its end mark included), best first: what decoding finds with `begin`."""
        return Session(self, sources, None, self.threads).search(limits, plain)

    def search_batches(
        self, batches: Sequence[Batch], plain: PlainSearch
    ) -> Iterator[list[list[Hypothesis]]]:
        """The same for one batch after another: where there are several, every thread has one of its own."""
        workers = min(self.threads, len(batches))
        if workers <= 1:
            yield from (self.search(*batch, plain) for batch in batches)
            return

        def alone(batch: Batch) -> list[list[Hypothesis]]:
            sources, limits = batch
            return Session(self, sources, None, 1).search(limits, plain)

        with ThreadPoolExecutor(workers) as pool:  # the compiled part lets other threads of Python run
            yield from pool.map(alone, batches)

    def budget(self, lengths: Sequence[int], width: int) -> int:
        """Tokens of sources in a batch, for beams of a width: so many that every thread has a batch, if there are enough."""
        most = max(1, TOGETHER // width)
        return most if len(lengths) < FEW * self.threads else min(most, -(-sum(lengths) // self.threads))


class Session:
    """The compiled part's memory of one decoding. It is freed with this object."""

    def __init__(
        self, engine: Engine, sources: Sequence[Sequence[int]], look: CrossHeads | None, threads: int
    ):
        if not all(sources):
            raise ValueError("a source sentence has no tokens")
        config: TranslatorConfig = engine.config
        self.engine, self.rows = engine, len(sources)
        self.longest = max(map(len, sources))
        check_position(self.longest, config)
        ids = torch.tensor([token for source in sources for token in source], dtype=torch.int32)
        check_ids(ids, config)
        lengths = torch.tensor([len(source) for source in sources], dtype=torch.int32)
        block = -1 if look is None else look.block
        self.handle: Any = None
        self.handle = engine.library.qkv_begin(
            ctypes.byref(engine.packed.struct), ids.data_ptr(), lengths.data_ptr(), self.rows, block, threads
        )

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.engine.library.qkv_end(self.handle)

    def search(self, limits: Sequence[int], plain: PlainSearch) -> list[list[Hypothesis]]:
        longest, count = max(limits), self.rows * plain.best
        check_position(longest, self.engine.config)
        if min(limits) < 1:
            raise ValueError("every row must be allowed at least one id")
        limit = torch.tensor(limits, dtype=torch.int32)
        penalty = torch.tensor([1.0, *map(plain.penalty, range(1, longest + 1))], dtype=torch.float64)
        ids = torch.empty(count, longest + 1, dtype=torch.int32)
        gains = torch.empty(count, longest + 1)
        counts = torch.zeros(count, 2, dtype=torch.int32)
        scores = torch.empty(count, dtype=torch.float64)
        finished = torch.empty(count, dtype=torch.int32)
        config = self.engine.config
        wish = WishStruct(
            limits=limit.data_ptr(),
            penalty=penalty.data_ptr(),
            start=config.start,
            end=config.end,
            least=plain.least,
            width=plain.width,
            best=plain.best,
            patience=plain.patience,
        )
        results = (each.data_ptr() for each in (ids, gains, counts, scores, finished))
        self.engine.library.qkv_search(self.handle, ctypes.byref(wish), longest, *results)
        found: list[list[Hypothesis]] = [[] for _ in range(self.rows)]
        columns = (each.tolist() for each in (ids, gains, counts, scores, finished))
        for at, (said, each, (words, steps), score, whole) in enumerate(zip(*columns, strict=True)):
            if steps:
                found[at // plain.best].append(Hypothesis(said[:words], score, bool(whole), each[:steps]))
        return found


class EngineStep:
    """One decoding of a batch of sources, word by word (the Step protocol)."""

    def __init__(self, engine: Engine, sources: Sequence[Sequence[int]], look: CrossHeads | None):
        self.session = Session(engine, sources, look, engine.threads)
        self.engine, self.look = engine, look
        self.said = 0
        lengths = torch.tensor([len(source) for source in sources])
        self.real = torch.arange(self.session.longest) < lengths[:, None]  # (B, S)

    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the word after the last of them, (B, V), out."""
        config = self.engine.config
        self.said += ids.shape[1]
        check_position(self.said, config)
        check_ids(ids, config)
        if len(ids) != len(self.real):
            raise ValueError(f"there are {len(self.real)} rows, not {len(ids)}")
        logits = torch.empty(len(ids), config.vocab)
        columns = ids.to(torch.int32).T.contiguous()  # (T, B)
        for place, column in enumerate(columns):
            last = place == len(columns) - 1
            self.engine.library.qkv_step(
                self.session.handle, column.data_ptr(), logits.data_ptr() if last else None
            )
        return logits

    @property
    def looked(self) -> Tensor:
        """(B, S) of the last call; padding counts as fully seen."""
        if self.look is None or not self.said:
            raise ValueError("a step tells where it has looked only if it is begun with heads to look at")
        heads = self.engine.config.decoder.heads
        shape = len(self.real), heads, self.session.longest
        pointer = self.engine.library.qkv_looked(self.session.handle)
        weights = torch.tensor(pointer[: shape[0] * shape[1] * shape[2]]).view(shape)
        return weights[:, list(self.look.heads)].mean(1).masked_fill(~self.real, 1.0)

    def select(self, rows: Tensor) -> None:
        order = rows.to(torch.int32).contiguous()
        self.engine.library.qkv_select(self.session.handle, order.data_ptr(), len(order))
        self.real = self.real[rows]


def check_position(position: int, config: TranslatorConfig) -> None:
    if position > config.context:
        raise ValueError(f"position {position} is beyond the context of {config.context}")


def check_ids(ids: Tensor, config: TranslatorConfig) -> None:
    if int(ids.min()) < 0 or int(ids.max()) >= config.vocab:
        raise IndexError("an id is not in the vocabulary")
