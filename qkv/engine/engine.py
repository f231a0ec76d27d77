"""The engine: one decoding of a batch as a Step, and greedy and beam search without a way back to Python."""

import ctypes
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from qkv.core.pairs import CrossHeads
from qkv.decoding.beam import LengthPenalty
from qkv.decoding.step import Hypothesis
from qkv.engine.library import WishStruct, library
from qkv.engine.packing import Packed
from qkv.engine.session import Session, check_ids
from qkv.families.translator.model import Translator, TranslatorConfig

Batch = tuple[Sequence[Sequence[int]], Sequence[int]]  # sources, and the most ids that each may get

TOGETHER = 1_024  # tokens that are decoded together at most: what they need stays in a core's cache
FEW = 8  # sentences that are not worth being shared out


@dataclass(frozen=True, kw_only=True)
class PlainSearch:
    """All that the compiled search can do: greedy with a width of 1, else a beam.

    It is never given the options themselves: who calls it converts them, and goes elsewhere with what does not fit.
    """

    width: int
    penalty: LengthPenalty
    best: int = 1
    patience: int = 0
    """Stop when so many have ended; 0: when nothing better can come."""
    least: int = 1
    """No answer ends before it has so many ids."""
    never: int | None = None
    """What is never said."""


@dataclass(frozen=True)
class PlainRequest:
    """A source with its end mark, and the most ids that its translation may get; nothing else is asked of it."""

    source: Sequence[int]
    limit: int


class Engine:
    """A translator's weights, packed. `threads` share one decoding."""

    def __init__(self, model: Translator, *, int8: bool, threads: int):
        library()  # where it cannot be had, that is known before weights are packed
        self.config, self.threads = model.config, threads
        self.packed = Packed.translator(model, int8=int8)

    def begin(self, source: Tensor, look: CrossHeads | None = None) -> "EngineStep":
        sentences = [row[: int((row != self.config.pad).sum())].tolist() for row in source]
        return EngineStep(self, sentences, look)

    def session(
        self, sources: Sequence[Sequence[int]], threads: int, look: CrossHeads | None = None
    ) -> Session:
        if not all(sources):
            raise ValueError("a source sentence has no tokens")
        check_position(max(map(len, sources)), self.config)
        for source in sources:
            check_ids(torch.tensor(source), self.config.vocab_size)
        return Session(self.packed, sources, threads, -1 if look is None else look.block)

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source (its end mark included), best first: what decoding finds with `begin`."""
        return self.searched(sources, limits, plain, self.threads)

    def search_plain(
        self, batches: Sequence[Sequence[PlainRequest]], plain: PlainSearch
    ) -> Iterator[list[list[Hypothesis]]]:
        """The same for batches of requests, one after another."""
        parts = [([each.source for each in batch], [each.limit for each in batch]) for batch in batches]
        return self.search_batches(parts, plain)

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
            return self.searched(sources, limits, plain, 1)

        with ThreadPoolExecutor(workers) as pool:  # the compiled part lets other threads of Python run
            yield from pool.map(alone, batches)

    def searched(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch, threads: int
    ) -> list[list[Hypothesis]]:
        longest, count, config = max(limits), len(sources) * plain.best, self.config
        check_position(longest, config)
        if min(limits) < 1:
            raise ValueError("every row must be allowed at least one id")
        session = self.session(sources, threads)
        limit = torch.tensor(limits, dtype=torch.int32)
        penalty = torch.tensor([1.0, *map(plain.penalty, range(1, longest + 1))], dtype=torch.float64)
        ids = torch.empty(count, longest + 1, dtype=torch.int32)
        gains = torch.empty(count, longest + 1)
        counts = torch.zeros(count, 2, dtype=torch.int32)
        scores = torch.empty(count, dtype=torch.float64)
        finished = torch.empty(count, dtype=torch.int32)
        wish = WishStruct(
            limits=limit.data_ptr(),
            penalty=penalty.data_ptr(),
            start=config.start,
            end=config.end,
            least=plain.least,
            never=-1 if plain.never is None else plain.never,
            width=plain.width,
            best=plain.best,
            patience=plain.patience,
        )
        results = (each.data_ptr() for each in (ids, gains, counts, scores, finished))
        session.library.qkv_search(session.handle, ctypes.byref(wish), longest, *results)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        columns = (each.tolist() for each in (ids, gains, counts, scores, finished))
        for at, (said, each, (words, steps), score, whole) in enumerate(zip(*columns, strict=True)):
            if steps:
                found[at // plain.best].append(Hypothesis(said[:words], score, bool(whole), each[:steps]))
        return found

    def batches(self, lengths: Sequence[int], width: int, most: int = TOGETHER) -> list[list[int]]:
        """Which sources are decoded together, for beams of a width: those of like length, which end together.

        What the threads have at the same time is dealt out to them like cards, so that they end together too.
        """
        threads = self.threads if len(lengths) >= FEW * self.threads else 1
        order = sorted(range(len(lengths)), key=lambda row: lengths[row])
        rounds = equal_parts(order, lengths, threads * max(1, min(most, TOGETHER) // width))
        return [each[hand::threads] for each in rounds for hand in range(threads) if each[hand:]]


class EngineStep:
    """One decoding of a batch of sources, word by word (the Step protocol)."""

    def __init__(self, engine: Engine, sources: Sequence[Sequence[int]], look: CrossHeads | None):
        self.session = engine.session(sources, engine.threads, look)
        self.config, self.look = engine.config, look
        self.said = 0
        lengths = torch.tensor([len(source) for source in sources])
        self.real = torch.arange(int(lengths.max())) < lengths[:, None]  # (B, S)

    def __call__(self, ids: Tensor) -> Tensor:
        """The newest ids, (B, T), in; logits of the word after the last of them, (B, V), out."""
        check_position(self.said + ids.shape[1], self.config)
        check_ids(ids, self.config.vocab_size)
        self.said += ids.shape[1]
        return self.session.step(ids)

    @property
    def attention(self) -> Tensor:
        """(B, S) of the last call; padding counts as fully seen."""
        if self.look is None or not self.said:
            raise ValueError("a step tells where it has looked only if it is begun with heads to look at")
        rows, longest = self.real.shape
        shape = rows, self.config.decoder.heads, longest
        pointer = self.session.library.qkv_looked(self.session.handle)
        weights = torch.tensor(pointer[: shape[0] * shape[1] * shape[2]]).view(shape)
        return weights[:, list(self.look.heads)].mean(1).masked_fill(~self.real, 1.0)

    def select(self, rows: Tensor) -> None:
        self.session.select(rows)
        self.real = self.real[rows]


def equal_parts(order: Sequence[int], lengths: Sequence[int], most: int) -> list[list[int]]:
    """Neighbours in parts of about the same number of tokens, and not many more than `most`."""
    total = sum(lengths)
    parts: list[list[int]] = [[] for _ in range(-(-total // most))]
    before = 0
    for row in order:
        parts[before * len(parts) // total].append(row)
        before += lengths[row]
    return [part for part in parts if part]


def check_position(position: int, config: TranslatorConfig) -> None:
    if position > config.max_length:
        raise ValueError(f"position {position} is beyond the context of {config.max_length}")
