"""Batch sizes for streaming output: large enough to be fast, small enough to print results early."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

FEWEST = 8
SOON, LATE = 0.5, 2.0  # seconds: portions that take less grow, portions that take more shrink
FASTEST = 8  # times that a portion may be larger than the one before

Item = TypeVar("Item")


class Pace:
    """Portions start small, grow while they finish quickly, and shrink if they take long."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic):
        self.size, self.most, self.clock = min(FEWEST, most), most, clock

    def portions(self, items: Iterable[Item]) -> Iterator[list[Item]]:
        """All items, in order. If reading an item fails, those before it come first."""
        rest, failure = iter(items), None
        while failure is None:
            portion: list[Item] = []
            try:
                for item in islice(rest, self.size):
                    portion.append(item)
            except Exception as error:
                failure = error
            if not portion:
                break
            began = self.clock()
            yield portion
            took = self.clock() - began
            if took < SOON:
                growth = min(FASTEST, max(2, int(SOON / max(took, SOON / FASTEST))))
                self.size = min(self.most, growth * self.size)
            elif took > LATE:
                self.size = min(self.most, max(FEWEST, self.size // 2))
        if failure is not None:
            raise failure
