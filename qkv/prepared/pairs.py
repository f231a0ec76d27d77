"""Sentence pairs in files. A file holds up to PART_PAIRS pairs:

source, target              uint8   the sentences in UTF-8, each followed by a line feed
source_ends, target_ends    int64   where each sentence ends, after its line feed
lengths                     uint32  (pairs, 2) the length of both sides, as `text_length` counts it
hashes                      uint64  (pairs, 2) a hash of each pair
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from qkv.checkpoint.arrays import StoredArrays
from qkv.data.pair_facts import Hashes, Lengths, hashes_of, lengths_of
from qkv.data.parallel import ParallelText, pair_line
from qkv.prepared.parts import Parts

PART_PAIRS = 100_000
LINE_FEED = 10
Rows = NDArray[np.uint32]


def pair_arrays(sources: Sequence[str], targets: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The content of a part."""
    found: dict[str, NDArray[Any]] = {
        "lengths": lengths_of(sources, targets),
        "hashes": hashes_of(map(pair_line, sources, targets)),
    }
    for side, texts in (("source", sources), ("target", targets)):
        found[side] = np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)
        found[f"{side}_ends"] = np.flatnonzero(found[side] == LINE_FEED) + 1
    return found


def texts_in(part: Mapping[str, NDArray[Any]], side: str) -> list[str]:
    """All sentences of one side of a part."""
    return part[side].tobytes().decode().split("\n")[:-1]


class PairParts:
    """The parts with the pairs. Row r is row r % rows_per_part of part r // rows_per_part."""

    def __init__(self, parts: Parts, rows_per_part: int, total: int):
        self.parts, self.rows_per_part, self.total = parts, rows_per_part, total
        self.opened = lru_cache(maxsize=2)(parts.open)  # for random access

    def runs(self, rows: Rows) -> Iterator[tuple[int, Rows]]:
        """Consecutive rows that are in one part: its number, and their places in it."""
        numbers = rows // self.rows_per_part
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(rows)]
        for start, end in pairwise(cuts):
            if end > start:
                yield int(numbers[start]), rows[start:end] % self.rows_per_part

    def values(self, name: str, rows: Rows, empty: NDArray[Any]) -> NDArray[Any]:
        """An array of the parts, for these rows."""
        found = [self.parts.open(number)[name][places] for number, places in self.runs(rows)]
        return np.concatenate(found) if found else empty


class StoredTexts(Sequence[str]):
    """One side of some stored pairs. Reading all of them in turn holds one part in memory."""

    def __init__(self, stored: PairParts, side: str, rows: Rows):
        self.stored, self.side, self.rows = stored, side, rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return list(StoredTexts(self.stored, self.side, self.rows[place]))
        number, row = divmod(int(self.rows[place]), self.stored.rows_per_part)
        part: StoredArrays = self.stored.opened(number)
        ends = part[f"{self.side}_ends"]
        start = ends[row - 1] if row else 0
        return part[self.side][start : ends[row] - 1].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        for number, places in self.stored.runs(self.rows):
            texts = texts_in(self.stored.parts.open(number), self.side)
            yield from map(texts.__getitem__, places.tolist())


@dataclass(frozen=True, kw_only=True)
class StoredPairs(ParallelText):
    """Some rows of the pairs in a folder. Sentences were stripped when they were stored."""

    stored: PairParts
    rows: Rows

    @classmethod
    def of(cls, stored: PairParts, rows: Rows) -> "StoredPairs":
        source, target = (StoredTexts(stored, side, rows) for side in ("source", "target"))
        return cls(source=source, target=target, stored=stored, rows=rows)

    def fingerprint(self) -> str:
        digest, both = hashlib.sha256(), zip(self.source, self.target, strict=True)
        while lines := "".join(f"{source}\t{target}\n" for source, target in islice(both, 10_000)):
            digest.update(lines.encode())
        return digest.hexdigest()

    def stripped(self) -> ParallelText:
        return self

    def select(self, rows: NDArray[Any]) -> "StoredPairs":
        return StoredPairs.of(self.stored, self.rows[rows])

    def in_memory(self) -> ParallelText:
        return ParallelText(source=list(self.source), target=list(self.target))

    def lengths(self) -> Lengths:
        return self.stored.values("lengths", self.rows, np.empty((0, 2), np.uint32))

    def hashes(self) -> Hashes:
        return self.stored.values("hashes", self.rows, np.empty((0, 2), np.uint64))
