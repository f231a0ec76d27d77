"""Exact and near duplicates. Of similar pairs, the first one in the corpus is kept.

Near duplicates are found by MinHash (Broder 1997): the share of equal numbers in two signatures estimates the share
of word pairs that two texts have in common. Candidates come from bands of the signatures (LSH). All numbers follow from the
text and a fixed seed, so a decision is the same on every machine.
"""

import zlib
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from qkv.corpus.words import plain, words

Hashes = NDArray[np.uint64]
Signatures = NDArray[np.uint16]

PERMUTATIONS = 32
ROWS = 4  # of a band; 8 bands find pairs of similarity 0.8 with probability 0.985
EDGE = 0x9E3779B9  # before the first word and after the last
ODD = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(32)
NO_SIGNATURES: Signatures = np.zeros((0, PERMUTATIONS), dtype=np.uint16)


def fingerprint(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def pair_fingerprint(source: str, target: str) -> int:
    return fingerprint(f"{plain(source)}\t{plain(target)}")


def first_occurrences(hashes: Hashes) -> NDArray[np.bool_]:
    first = np.zeros(len(hashes), dtype=np.bool_)
    first[np.unique(hashes, return_index=True)[1]] = True
    return first


def word_hashes(source: str, target: str) -> list[int]:
    """Hashes of the words of both sides, with a boundary around each side. Two neighbors make a shingle."""
    return [
        EDGE,
        *(zlib.crc32(word.encode()) for word in words(source)),
        EDGE + 1,
        *(zlib.crc32(word.encode(), 1) for word in words(target)),  # 1: the same word of another language
        EDGE + 2,
    ]


def signatures_of(pairs: Sequence[tuple[str, str]]) -> Signatures:
    """The MinHash of every pair: (pairs, permutations)."""
    if not pairs:
        return NO_SIGNATURES
    rows = [word_hashes(source, target) for source, target in pairs]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = np.fromiter((number for row in rows for number in row), dtype=np.uint64, count=int(lengths.sum()))
    ends = np.cumsum(lengths)
    neighbours = mix(flat[:-1] * ODD + flat[1:])
    inside = np.ones(len(neighbours), dtype=np.bool_)
    inside[ends[:-1] - 1] = False  # the last word of a row with the first of the next
    starts = np.concatenate([[0], np.cumsum(lengths - 1)[:-1]])
    # 16 bits of each minimum are enough to compare (b-bit MinHash, Li and König 2010), in a fourth of the memory.
    return np.stack(
        [
            np.minimum.reduceat((neighbours[inside] * factor + offset) >> SHIFT, starts).astype(np.uint16)
            for factor, offset in constants()
        ],
        axis=1,
    )


def constants() -> list[tuple[np.uint64, np.uint64]]:
    """Odd factors and offsets of multiply-shift hashing (Dietzfelbinger 1996)."""
    numbers = mix(np.arange(1, 2 * PERMUTATIONS + 1, dtype=np.uint64) * ODD)
    return [
        (factor | np.uint64(1), offset) for factor, offset in zip(numbers[::2], numbers[1::2], strict=True)
    ]


def mix(numbers: Hashes) -> Hashes:
    """Every bit depends on every bit (the finalizer of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def originals(found: Signatures, similarity: float) -> NDArray[np.int64]:
    """For every row, an earlier row of at least this similarity, or -1."""
    original = np.full(len(found), -1, dtype=np.int64)
    for band in range(0, PERMUTATIONS, ROWS):
        keys = band_keys(found[:, band : band + ROWS])
        order = np.argsort(keys, kind="stable")  # within a key, in the order of the corpus
        same = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        starts = np.flatnonzero(np.r_[True, keys[order][1:] != keys[order][:-1]])
        first = order[starts[np.searchsorted(starts, same + 1, side="right") - 1]]
        for earlier in (first, order[same]):  # the first of the group, and the one just before
            later = order[same + 1]
            agree = (found[later] == found[earlier]).mean(axis=1)
            hit = (agree >= similarity) & (original[later] < 0)
            original[later[hit]] = earlier[hit]
    return original


def band_keys(band: Signatures) -> Hashes:
    keys = np.zeros(len(band), dtype=np.uint64)
    for column in band.T:
        keys = mix(keys * ODD + column.astype(np.uint64))
    return keys
