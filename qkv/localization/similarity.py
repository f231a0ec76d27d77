"""How similar two texts are, and a fast way to find similar ones among many.

The similarity is that of edits: twice the longest common subsequence of characters, divided by both lengths. A signature counts
the character pairs of a text in a few buckets. Signatures of many texts are compared at once, and only the texts that share most
pairs are compared in full.
"""

from collections.abc import Sequence

import numpy as np

FUZZY = 0.75
BUCKETS = 128
LONGEST = 10_000  # characters of a text that is searched for similar ones
MOST, FEWEST, WORK = 256, 16, 300_000  # texts that are compared in full: fewer if they are long


def similarity(first: str, second: str) -> float:
    return 2 * common(first, second) / max(1, len(first) + len(second))


def common(first: str, second: str) -> int:
    """The length of the longest common subsequence, with one long integer as a row of the table (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for place, character in enumerate(first):
        places[character] = places.get(character, 0) | 1 << place
    full = row = (1 << len(first)) - 1
    for character in second:
        matches = row & places.get(character, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(first) - row.bit_count()


def length_range(length: int) -> tuple[int, int]:
    """The lengths that a text of this similarity can have."""
    ratio = FUZZY / (2 - FUZZY)
    return int(length * ratio), int(length / ratio) + 1


def candidates(length: int) -> int:
    """How many texts are compared in full with one of this length."""
    return min(MOST, max(FEWEST, WORK // max(1, length)))


def signature(text: str) -> bytes:
    codes = np.frombuffer(f" {text} ".encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    buckets = (codes[:-1] * 31 + codes[1:]) % BUCKETS
    return np.bincount(buckets.astype(np.intp), minlength=BUCKETS).clip(0, 255).astype(np.uint8).tobytes()


def overlaps(one: bytes, others: Sequence[bytes], lengths: Sequence[int]) -> np.ndarray:
    """An estimate of the similarity to each of the others, from signatures."""
    table = np.frombuffer(b"".join(others), dtype=np.uint8).reshape(len(others), BUCKETS)
    wanted = np.frombuffer(one, dtype=np.uint8)
    shared = np.minimum(table, wanted).sum(axis=1, dtype=np.int64)
    return 2 * shared / (int(wanted.sum(dtype=np.int64)) + np.asarray(lengths, dtype=np.int64) + 1)
