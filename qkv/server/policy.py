"""Which waiting segments a free worker takes: pure functions, without threads.

A request with little work left comes first, and time spent waiting counts in its favour. Requests take turns, so the
thousandth segment of one request never goes before the first of another. A batch stays so small that the next request
waits only briefly: with 4 rows a segment already takes half the time it takes alone, with 16 rows hardly less.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

MOST_ROWS = 16
MOST_TOKENS = 512
FEW_ROWS = 4
"""Rows of one request in a batch while it has many: others that arrive must not wait for a large batch."""
PATIENCE = 50.0
"""Tokens by which a waiting request moves forward every second."""

Unit = TypeVar("Unit")


@dataclass(frozen=True)
class Waiting:
    """A request with segments that wait."""

    tokens: int
    """Of all segments that are not finished."""
    since: float
    """Seconds on the clock of the caller."""


def order(requests: Sequence[Waiting], now: float) -> list[int]:
    """The numbers of the requests in the order in which they take turns."""
    return sorted(
        range(len(requests)),
        key=lambda number: (requests[number].tokens - PATIENCE * (now - requests[number].since), number),
    )


def choose(
    queues: Sequence[Iterable[Unit]],
    group: Callable[[Unit], Hashable],
    tokens: Callable[[Unit], int],
    *,
    rows: int = MOST_ROWS,
    budget: int = MOST_TOKENS,
    per_queue: int = FEW_ROWS,
) -> list[Unit]:
    """A batch: one segment of each queue in turn, all of the group of the first one.

    A queue that is alone gives at most `per_queue` segments. The first segment is taken whatever its size.
    """
    turns = [iter(queue) for queue in queues]
    chosen: list[Unit] = []
    taken = 0
    for _ in range(per_queue):
        for turn in turns:
            unit = next((each for each in turn if not chosen or group(each) == group(chosen[0])), None)
            if unit is None or len(chosen) == rows:
                continue
            if chosen and taken + tokens(unit) > budget:
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
