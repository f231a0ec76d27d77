"""Which waiting segments a free worker takes: pure functions, without threads.

A request with little work left comes first, and time since its last turn counts in its favour. Requests take turns, so the
thousandth segment of one request never goes before the first of another. Single sentences share a batch with each other,
but never wait for the rows of a long array. While they come and go, an array gets small batches: the next sentence waits
only briefly. Otherwise it gets large ones, which are faster for each segment.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

MOST_ROWS = 16
MOST_TOKENS = 512
FEW_ROWS = 4
"""Rows of an array while single sentences come and go. Four rows gain most of what sixteen gain."""
SMALL = 64
"""Tokens of a request that somebody waits for: a sentence or two. Larger ones are arrays and documents."""
PATIENCE = 200.0
"""Tokens by which a waiting request moves forward every second."""
MOST_COUNTED = 200
"""Tokens of a request that count against it: even the largest one has its turn within a second."""
QUANTUM = 0.1
"""Seconds that a batch of an array may take while single sentences come and go."""

Unit = TypeVar("Unit")


@dataclass(frozen=True)
class Waiting:
    """A request with segments that wait."""

    tokens: int
    """Of all segments that are not finished."""
    since: float
    """When it came or had its last turn, in seconds on the clock of the caller."""


@dataclass(frozen=True)
class BatchLimits:
    rows: int = MOST_ROWS
    tokens: int = MOST_TOKENS
    per_queue: int = MOST_ROWS
    """Rows of one request."""


ANY_BATCH = BatchLimits()


def order(requests: Sequence[Waiting], now: float) -> list[int]:
    """The numbers of the requests in the order in which they take turns."""

    def rank(number: int) -> tuple[float, int]:
        request = requests[number]
        return min(request.tokens, MOST_COUNTED) - PATIENCE * (now - request.since), number

    return sorted(range(len(requests)), key=rank)


def share_batch(first: Waiting, other: Waiting) -> bool:
    """Whether a request may add to the batch of the first one: a long array never slows down a sentence."""
    return other.tokens <= max(SMALL, first.tokens)


def limits_for(first: Waiting, segments: int, workers: int, pace: float, *, interactive: bool) -> BatchLimits:
    """The size of a batch that begins with a segment of this request, of which so many segments wait.

    `pace` is in tokens per second, `interactive` whether single sentences came recently. All workers get a part.
    """
    if first.tokens <= SMALL:
        return BatchLimits()
    rows = min(MOST_ROWS, math.ceil(segments / workers))
    if not interactive:
        return BatchLimits(per_queue=rows)
    tokens = min(MOST_TOKENS, max(1, int(pace * QUANTUM)))
    return BatchLimits(rows=FEW_ROWS, tokens=tokens, per_queue=min(FEW_ROWS, rows))


def choose(
    queues: Sequence[Iterable[Unit]],
    group: Callable[[Unit], Hashable],
    tokens: Callable[[Unit], int],
    limits: BatchLimits = ANY_BATCH,
) -> list[Unit]:
    """A batch: one segment of each queue in turn, all of the group of the first one.

    The first segment is taken whatever its size.
    """
    turns = [iter(queue) for queue in queues]
    chosen: list[Unit] = []
    taken = 0
    for _ in range(limits.per_queue):
        for turn in turns:
            unit = next((each for each in turn if not chosen or group(each) == group(chosen[0])), None)
            if unit is None or len(chosen) == limits.rows:
                continue
            if chosen and taken + tokens(unit) > limits.tokens:
                return chosen
            chosen.append(unit)
            taken += tokens(unit)
    return chosen


TRIALS = 4  # segments with each number of threads before one is preferred
EVERY = 32  # how often the other number is tried again


@dataclass
class ThreadChoice:
    """Whether one thread or all are faster for a segment that is alone.

    It depends on the size of the model and on what else the machine does, so it is measured, again and again.
    """

    turns: int = 0
    one: float = 0.0
    """Seconds per token with one thread, on average."""
    all: float = 0.0

    def use_all(self) -> bool:
        self.turns += 1
        if self.turns <= 2 * TRIALS:
            return self.turns % 2 == 0
        return (self.all < self.one) != (self.turns % EVERY == 0)

    def measured(self, used_all: bool, seconds_per_token: float) -> None:
        name = "all" if used_all else "one"
        old = getattr(self, name)
        setattr(self, name, smoothed(old, seconds_per_token, 0.3) if old else seconds_per_token)


def expected_seconds(tokens: int, tokens_per_second: float) -> float:
    """Until so many tokens are translated."""
    return tokens / max(tokens_per_second, 1.0)


def smoothed(old: float, new: float, weight: float = 0.1) -> float:
    """A moving average."""
    return old + weight * (new - old)
