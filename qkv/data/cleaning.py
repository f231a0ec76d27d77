"""Cleaning of sentence pairs, and a reproducible validation part."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qkv.data.holding_out import MIN_TO_SPLIT, TooFewError, count_to_hold_out
from qkv.data.pair_facts import Hashes, count_known, first_occurrences, hashes_of, sorted_groups
from qkv.data.parallel import ParallelText
from qkv.errors import DataError

# Below this length, the ratio says nothing: "OK" ↔ "In Ordnung", "Yes." ↔ "Das stimmt genau."
SHORT = 20
GROUPS_AT_ONCE = 65_536


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """The remaining pairs, and how many were dropped for each reason."""

    pairs: ParallelText
    dropped: dict[str, int]


def clean(pairs: ParallelText, *, longest: int, ratio: float) -> Cleaned:
    """Strip every sentence and drop pairs that are empty, longer than `longest`, or of very different lengths.

    If the longer side has more than 20 characters, it may be at most `ratio` times as long as the other. Lengths are in
    characters. Wide characters of Chinese, Japanese and Korean count twice, because one carries about as much meaning as two
    letters. Words cannot be counted in languages without spaces, and Hindi and Thai need three bytes per letter.
    """
    total, pairs = len(pairs), pairs.stripped()
    lengths = pairs.lengths()
    shorter, longer = lengths.min(axis=1), lengths.max(axis=1)
    keep = np.ones(total, np.bool_)
    dropped = {}
    for reason, holds in (
        ("empty", shorter == 0),
        ("too long", longer > longest),
        ("unequal lengths", (longer > SHORT) & (longer > ratio * shorter)),
    ):
        dropped[reason] = int((keep & holds).sum())
        keep &= ~holds
    if not keep.any():
        counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
        raise DataError(
            f"All {total} sentence pairs were dropped by cleaning ({counts}). "
            f"Check that the two sides belong together, or raise the limits: length {longest} and ratio {ratio:g}."
        )
    return Cleaned(pairs=pairs.select(np.flatnonzero(keep)), dropped=dropped)


def count_duplicates(pairs: ParallelText) -> int:
    """The number of pairs that repeat an earlier one exactly."""
    return len(pairs) - int(first_occurrences(pairs.hashes()).sum())


def count_shared(train: ParallelText, valid: ParallelText) -> int:
    """The number of validation pairs that are also in the training data."""
    return count_known(valid.hashes(), train.hashes())


def hold_out(
    pairs: ParallelText, *, size: str, seed: int, repeated: bool = False
) -> tuple[ParallelText, ParallelText]:
    """Split pairs into a training part and a validation part of about `size` (see `count_to_hold_out`).

    A source sentence is in one part only, with all its translations. The part depends on a hash of the sentence and the
    seed, so it is the same on every machine and changes little when data are added. The validation part has no duplicates,
    unless `repeated` is set to split as earlier versions of qkv did.
    """
    counted = np.ones(len(pairs), np.bool_) if repeated else first_occurrences(pairs.hashes())
    total = int(counted.sum())
    if total < MIN_TO_SPLIT:
        found = "1 different sentence pair is" if total == 1 else f"{total} different sentence pairs are"
        raise TooFewError(
            f"{found} too few to hold some out for validation; at least {MIN_TO_SPLIT} are needed."
        )
    held = held_rows(seeded_hashes(pairs.source, seed), counted, count_to_hold_out(size, total))
    if not held.any():
        raise TooFewError(
            f"nothing can be held out of the {total} sentence pairs, because they repeat the same few source sentences."
        )
    return pairs.select(np.flatnonzero(~held)), pairs.select(np.flatnonzero(held & counted))


def seeded_hashes(sentences: Iterable[str], seed: int) -> Hashes:
    return hashes_of(f"{seed}\n{sentence}" for sentence in sentences)


def held_rows(sources: Hashes, counted: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """The rows of the first source sentences in the order of their hashes, with at most `most` counted pairs.

    Sentences with too many pairs are skipped.
    """
    order, begins = sorted_groups(sources)
    group = np.cumsum(begins) - 1
    counts = np.bincount(group[counted[order]], minlength=int(group[-1]) + 1)
    held, room = np.zeros(len(counts), np.bool_), most
    for start in range(0, len(counts), GROUPS_AT_ONCE):
        for number, count in enumerate(counts[start : start + GROUPS_AT_ONCE].tolist(), start):
            if count <= room:
                held[number] = True
                room -= count
            if room == 0:
                break
        if room == 0:
            break
    rows = np.empty(len(order), np.bool_)
    rows[order] = held[group]
    return rows
