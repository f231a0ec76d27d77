"""What the server remembers for a while: files, documents and glossaries. Every store is bounded."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")


class TimedStore(Generic[Value]):
    """Values by name, until they are `seconds` old or the store holds more than `most` bytes."""

    def __init__(self, seconds: float, most: int, clock: Callable[[], float] = time.monotonic):
        self.seconds, self.most, self.clock = seconds, most, clock
        self.size = 0
        self.entries: OrderedDict[str, tuple[Value, int, float]] = OrderedDict()

    def put(self, name: str, value: Value, size: int) -> None:
        self.remove(name)
        self.entries[name] = value, size, self.clock() + self.seconds
        self.size += size
        self.drop_old()

    def get(self, name: str) -> Value | None:
        self.drop_old()
        found = self.entries.get(name)
        return None if found is None else found[0]

    def remove(self, name: str) -> None:
        found = self.entries.pop(name, None)
        self.size -= found[1] if found else 0

    def drop_old(self) -> None:
        now = self.clock()
        while self.entries:
            name, (_, _, until) = next(iter(self.entries.items()))
            if until > now and self.size <= self.most:
                return
            self.remove(name)

    def __iter__(self) -> Iterator[Value]:
        self.drop_old()
        return iter([value for value, _, _ in self.entries.values()])
