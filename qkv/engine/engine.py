"""The engine of translators: decoding of a batch as a Step, and compiled greedy and beam search."""

import ctypes
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qkv.core.translation import CrossHeads
from qkv.decoding.beam import LengthPenalty
from qkv.decoding.step import Hypothesis
from qkv.engine.library import WishStruct, library
from qkv.engine.packed_file import pack
from qkv.engine.packing import Packed, Weights
from qkv.engine.rounding import Floats
from qkv.engine.session import Session, check_ids
from qkv.families.translator.config import TranslatorConfig

Batch = tuple[Sequence[Sequence[int]], Sequence[int]]  # sources, and the maximum length of each output

TOGETHER = 1_024  # tokens per batch, so that their data stays in a core's cache
FEW = 8  # sentences per thread; fewer are not worth dividing


@dataclass(frozen=True, kw_only=True)
class PlainSearch:
    """Everything that the compiled search supports: greedy for a width of 1, otherwise beam search.

    Callers convert their options to this record and use the general search for anything else.
    """

    width: int
    penalty: LengthPenalty
    best: int = 1
    patience: int = 0
    """Stop when this many have finished; 0: when nothing better is possible."""
    least: int = 1
    """The minimum number of ids."""
    never: int | None = None
    """An id that is excluded."""
    look: CrossHeads | None = None
    """Heads whose mean attention is recorded at every step, for alignments."""


@dataclass(frozen=True)
class PlainRequest:
    """A source with its end token, and the maximum length of its translation."""

    source: Sequence[int]
    limit: int


class Engine:
    """A translator's weights, packed. `threads` share one decoding. Steps take and return NumPy arrays."""

    device: None = None

    def __init__(
        self,
        config: TranslatorConfig,
        weights: Weights,
        *,
        int8: bool,
        threads: int,
    ):
        library()  # fail before packing weights if it is unavailable
        self.config, self.threads = config, threads
        self.packed = pack(Packed.translator, config, weights, int8=int8)

    def begin(self, sources: Sequence[Sequence[int]], look: CrossHeads | None = None) -> "EngineStep":
        """Sources end with the end token."""
        return EngineStep(self, sources, look)

    def session(
        self, sources: Sequence[Sequence[int]], threads: int, look: CrossHeads | None = None
    ) -> Session:
        if not all(sources):
            raise ValueError("a source sentence has no tokens")
        check_position(max(map(len, sources)), self.config)
        for source in sources:
            check_ids(np.array(source), self.config.vocab_size)
        return Session(self.packed, sources, threads, -1 if look is None else look.block)

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source (including its end token), best first. Equal to decoding with `begin`."""
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
        """The same for several batches, each on its own thread."""
        workers = min(self.threads, len(batches))
        if workers <= 1:
            yield from (self.search(*batch, plain) for batch in batches)
            return

        def alone(batch: Batch) -> list[list[Hypothesis]]:
            sources, limits = batch
            return self.searched(sources, limits, plain, 1)

        with ThreadPoolExecutor(workers) as pool:  # the compiled code releases the GIL
            yield from pool.map(alone, batches)

    def searched(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], plain: PlainSearch, threads: int
    ) -> list[list[Hypothesis]]:
        longest, count, config = max(limits), len(sources) * plain.best, self.config
        check_position(longest, config)
        if min(limits) < 1:
            raise ValueError("every row must be allowed at least one id")
        session = self.session(sources, threads, plain.look)
        if plain.look is not None:
            session.watch(plain.look.heads)
        limit = np.array(limits, np.int32)
        penalty = np.array([1.0, *map(plain.penalty, range(1, longest + 1))], np.float64)
        ids = np.empty((count, longest + 1), np.int32)
        gains = np.empty((count, longest + 1), np.float32)
        counts = np.zeros((count, 2), np.int32)
        scores = np.empty(count, np.float64)
        finished = np.empty(count, np.int32)
        wish = WishStruct(
            limits=limit.ctypes.data,
            penalty=penalty.ctypes.data,
            start=config.start,
            end=config.end,
            least=plain.least,
            never=-1 if plain.never is None else plain.never,
            width=plain.width,
            best=plain.best,
            patience=plain.patience,
        )
        results = (each.ctypes.data for each in (ids, gains, counts, scores, finished))
        session.library.qkv_search(session.handle, ctypes.byref(wish), longest, *results)
        found: list[list[Hypothesis]] = [[] for _ in sources]
        columns = (each.tolist() for each in (ids, gains, counts, scores, finished))
        for at, (output, each, (words, steps), score, whole) in enumerate(zip(*columns, strict=True)):
            if steps:
                place = divmod(at, plain.best)
                attention = None
                if plain.look is not None:
                    attention = session.attention_of(*place, (steps, len(sources[place[0]])))
                hypothesis = Hypothesis(output[:words], score, bool(whole), each[:steps], attention)
                found[place[0]].append(hypothesis)
        return found

    def batches(self, lengths: Sequence[int], width: int, most: int = TOGETHER) -> list[list[int]]:
        """Group sources of similar length into batches for this beam width.

        Batches that run at the same time get sources in turn, so that all threads finish together.
        """
        threads = self.threads if len(lengths) >= FEW * self.threads else 1
        order = sorted(range(len(lengths)), key=lambda row: lengths[row])
        rounds = equal_parts(order, lengths, threads * max(1, min(most, TOGETHER) // width))
        return [each[hand::threads] for each in rounds for hand in range(threads) if each[hand:]]


class EngineStep:
    """One decoding of a batch of sources, token by token (the Step protocol)."""

    def __init__(self, engine: Engine, sources: Sequence[Sequence[int]], look: CrossHeads | None):
        self.session = engine.session(sources, engine.threads, look)
        self.config, self.look = engine.config, look
        self.length = 0
        lengths = np.array([len(source) for source in sources])
        self.real: NDArray[np.bool_] = np.arange(lengths.max()) < lengths[:, None]  # (B, S)

    def __call__(self, ids: ArrayLike) -> Floats:
        """Take the newest ids, (B, T), and return the logits of the next token, (B, V)."""
        given: NDArray[Any] = np.asarray(ids)
        check_position(self.length + given.shape[1], self.config)
        check_ids(given, self.config.vocab_size)
        self.length += given.shape[1]
        return self.session.step(given)

    @property
    def attention(self) -> Floats:
        """Attention of the last call, (B, S). Padding counts as 1."""
        if self.look is None or not self.length:
            raise ValueError("attention is available only after a step that was begun with heads")
        rows, longest = self.real.shape
        pointer = self.session.library.qkv_looked(self.session.handle)
        weights = np.ctypeslib.as_array(pointer, (rows, self.config.decoder.heads, longest))
        mean: Floats = weights[:, list(self.look.heads)].mean(1)
        return np.where(self.real, mean, np.float32(1))

    def select(self, rows: ArrayLike) -> None:
        self.session.select(rows)
        self.real = self.real[np.asarray(rows)]


def equal_parts(order: Sequence[int], lengths: Sequence[int], most: int) -> list[list[int]]:
    """Split neighbours into parts of about the same number of tokens, at most slightly above `most`."""
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
