"""Facts about texts as arrays: their lengths, and 128-bit hashes that stand for them."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

FIRST_WIDE = "\u1100"  # no character before this one is wide
Lengths = NDArray[np.uint32]  # (N, 2)
Hashes = NDArray[np.uint64]  # (N, 2), in the order of the bytes of the hashes


def text_length(text: str) -> int:
    """The length in characters. Wide characters of Chinese, Japanese and Korean count twice."""
    if text.isascii() or max(text) < FIRST_WIDE:  # a fast path for most text
        return len(text)
    return len(text) + sum(east_asian_width(character) in "WF" for character in text)


def lengths_of(sources: Sequence[str], targets: Sequence[str]) -> Lengths:
    both = [np.fromiter(map(text_length, texts), np.uint32, len(texts)) for texts in (sources, targets)]
    return np.stack(both, axis=1)


def hashes_of(texts: Iterable[str]) -> Hashes:
    """Two different texts have the same hash with a probability of 2⁻¹²⁸."""
    digests = b"".join(blake2b(text.encode(), digest_size=16).digest() for text in texts)
    return np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, 2)


def sorted_groups(hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The rows in the order of their hashes, equal ones in their own order, and which of them begin another hash."""
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)
    return order, begins


def first_occurrences(hashes: Hashes) -> NDArray[np.bool_]:
    """Whether each row is the first with its hash."""
    order, begins = sorted_groups(hashes)
    first = np.empty(len(order), np.bool_)
    first[order] = begins
    return first


def count_known(hashes: Hashes, known: Hashes) -> int:
    """How many of the hashes are among the known ones, of which there may be many more."""
    near = known[np.isin(known[:, 0], hashes[:, 0])]
    found = set(map(tuple, near.tolist()))
    return sum(tuple(each) in found for each in hashes.tolist())
