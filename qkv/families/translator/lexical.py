"""A dictionary of tokens from aligned pairs (IBM model 1, Brown et al. 1993), for shortlists."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]

ROUNDS = 4  # of expectation and maximization
MOST_LINKS = 40_000_000  # possible links that are counted; of a larger corpus, every n-th pair is used
PART = 2_000_000  # links that are numbered at once
LONGEST = 128  # tokens of a side that are used


def learn_translations(
    pairs: Pairs, vocab_size: int, most: int, known: Collection[int] = ()
) -> tuple[list[int], list[int]]:
    """For each source token its likeliest translations, at most so many, apart from the `known` ones.

    Returns:
        Offsets (V + 1) and tokens: those of source token s are tokens[offsets[s]:offsets[s + 1]].
    """
    keys, entry, place = number_links(possible_links(pairs, vocab_size, known))
    source_of = keys // vocab_size
    probability = np.ones(len(keys))
    for _ in range(ROUNDS):
        share = probability[entry]
        share /= np.bincount(place, weights=share)[
            place
        ]  # of the source tokens that may explain a target token
        count = np.bincount(entry, weights=share, minlength=len(keys))
        probability = count / np.bincount(source_of, weights=count)[source_of]
    return likeliest(keys, probability, vocab_size, most)


def possible_links(
    pairs: Pairs, vocab_size: int, known: Collection[int]
) -> Iterator[tuple[Integers, Integers]]:
    """For each pair, its links as source · V + target, and the number of the target token that each may explain.

    A token counts once in its pair. A target token may also come from no source token, which is number V.
    """
    skipped, at, nothing = frozenset(known), 0, [vocab_size]
    used = pairs[:: -(-count_links(pairs) // MOST_LINKS) or 1]
    for source, target in used:
        sources = np.array([*dict.fromkeys(source[:LONGEST]), *nothing], dtype=np.int64)
        different = dict.fromkeys(target[:LONGEST])
        targets = np.array([token for token in different if token not in skipped], dtype=np.int64)
        if len(targets):
            links = sources[:, None] * vocab_size + targets
            yield links.reshape(-1), np.tile(np.arange(at, at + len(targets)), len(sources))
            at += len(targets)


def count_links(pairs: Pairs) -> int:
    return sum((min(len(source), LONGEST) + 1) * min(len(target), LONGEST) for source, target in pairs)


def number_links(links: Iterator[tuple[Integers, Integers]]) -> tuple[Integers, NDArray[np.int32], Integers]:
    """The distinct links, sorted; and for every link its number among these, and what it may explain."""
    parts, entries, places = [], [], []
    for part in grouped(links):
        distinct, entry = np.unique(np.concatenate([each for each, _ in part]), return_inverse=True)
        parts.append(distinct)
        entries.append(entry.astype(np.int32))
        places.append(np.concatenate([each for _, each in part]))
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty.astype(np.int32), empty
    keys = np.unique(np.concatenate(parts))
    numbered = [
        np.searchsorted(keys, one).astype(np.int32)[each] for one, each in zip(parts, entries, strict=True)
    ]
    return keys, np.concatenate(numbered), np.concatenate(places)


def grouped(links: Iterator[tuple[Integers, Integers]]) -> Iterator[list[tuple[Integers, Integers]]]:
    """Pairs with about PART links together."""
    part: list[tuple[Integers, Integers]] = []
    size = 0
    for each in links:
        part.append(each)
        size += len(each[0])
        if size >= PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def likeliest(keys: Integers, probability: Floats, vocab_size: int, most: int) -> tuple[list[int], list[int]]:
    source, target = np.divmod(keys, vocab_size)
    real = source < vocab_size  # the others come from nothing
    source, target, probability = source[real], target[real], probability[real]
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    counts = np.bincount(source, minlength=vocab_size)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = rank < most
    offsets = np.cumsum(np.bincount(source[kept], minlength=vocab_size))
    return [0, *offsets.tolist()], target[kept].tolist()


def most_frequent(targets: Iterable[Sequence[int]], vocab_size: int, most: int) -> list[int]:
    """The most frequent tokens, at most so many; of equally frequent ones, those with the lower ids."""
    counts = np.zeros(vocab_size, dtype=np.int64)
    for target in targets:
        np.add.at(counts, np.asarray(target, dtype=np.int64), 1)
    order = np.argsort(-counts, kind="stable")[:most]
    found: list[int] = order[counts[order] > 0].tolist()
    return found
