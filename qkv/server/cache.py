"""Finished translations, by everything that decides them. The least recently used ones are dropped."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")
OVERHEAD = 400  # bytes of an entry besides its text, about


class Cache(Generic[Value]):
    """A mapping of bounded size. `megabytes` 0 keeps nothing."""

    def __init__(self, megabytes: float):
        self.limit = int(megabytes * 2**20)
        self.size = 0
        self.hits = self.misses = 0
        self.entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        found = self.entries.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self.entries.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: Value, characters: int) -> None:
        """`characters` of key and value together decide the size of the entry."""
        size = OVERHEAD + 2 * characters
        if size > self.limit:
            return
        _, old = self.entries.pop(key, (None, 0))
        self.entries[key] = value, size
        self.size += size - old
        while self.size > self.limit:
            _, (_, dropped) = self.entries.popitem(last=False)
            self.size -= dropped
