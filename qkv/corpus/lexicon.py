"""Scores how well two texts match, with a dictionary learned from the corpus (IBM model 1, Brown et al. 1993).

The score of a pair is the mean, over its words, of log p(word | other side) / p(word): how much the other side tells about
a word. It is around 2 for translations, and below 0 for texts that have nothing to do with each other.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qkv.corpus.words import words

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDS = 5  # of expectation and maximization
STEM = 6  # letters: inflected forms of a word share an entry
FEWEST = 3  # occurrences of a word in the sample
FEWEST_TOGETHER = 2  # occurrences of two words in one pair
FEWEST_KNOWN = 2  # words of a side that must be known for a pair to be scored
LEAST = 1e-3  # smaller translation probabilities are dropped
TRUST = 0.8  # in the dictionary; the rest is for free translation
COPY = 0.5  # the probability that a word on both sides translates itself
LONGEST = 100  # words of a side that are used
CELLS = 8_000_000  # possible links per batch


def stems(text: str) -> list[str]:
    """Each word once; all numbers are the same word."""
    return list(dict.fromkeys("0" if word.isdigit() else word[:STEM] for word in words(text)[:LONGEST]))


@dataclass(frozen=True, kw_only=True)
class Cells:
    """All possible links of some pairs: source word × target word, pair after pair."""

    source: Integers  # place of the source word among all source words of these pairs
    target: Integers

    @classmethod
    def of(cls, source_lengths: Integers, target_lengths: Integers) -> "Cells":
        counts = source_lengths * target_lengths
        pair = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        row, column = np.divmod(within, target_lengths[pair])
        return cls(
            source=row + (np.cumsum(source_lengths) - source_lengths)[pair],
            target=column + (np.cumsum(target_lengths) - target_lengths)[pair],
        )


@dataclass(frozen=True, kw_only=True)
class Side:
    """The vocabulary of one language: the number of each word, from 0, and how frequent it is."""

    numbers: dict[str, int]
    frequency: Floats  # the last entry is for unknown words

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "Side":
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(text)
        kept = sorted(word for word, count in counts.items() if count >= FEWEST)
        total = max(1, counts.total())
        frequency = np.array([*(counts[word] for word in kept), 1], dtype=np.float64) / total
        return cls(numbers={word: number for number, word in enumerate(kept)}, frequency=frequency)

    def __len__(self) -> int:
        return len(self.numbers)

    def encode(self, texts: Sequence[Sequence[str]]) -> tuple[Integers, Integers]:
        """The ids of all words, text by text, and the number of words in each text."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        unknown, number_of = len(self), self.numbers.get
        flat = (number_of(word, unknown) for text in texts for word in text)
        return np.fromiter(flat, dtype=np.int64, count=int(lengths.sum())), lengths


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    source: Side
    target: Side
    keys: Integers  # sorted: source word × size of the target vocabulary + target word
    target_given_source: Floats
    source_given_target: Floats

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """One for each pair; NaN if too few words are known."""
        texts = [(stems(source), stems(target)) for source, target in pairs]
        sizes = np.cumsum([len(source) * len(target) for source, target in texts])
        found = [self.scores_of(texts[start:end]) for start, end in chunks(sizes)]
        return np.concatenate(found) if found else np.zeros(0)

    def scores_of(self, texts: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Floats:
        source, source_lengths = self.source.encode([each for each, _ in texts])
        target, target_lengths = self.target.encode([each for _, each in texts])
        cells = Cells.of(source_lengths, target_lengths)
        place = self.places(source[cells.source], target[cells.target])
        copied = self.copies(texts, cells)
        forwards = np.maximum(self.target_given_source[place], copied)
        backwards = np.maximum(self.source_given_target[place], copied)
        both = (
            (forwards, cells.target, target, target_lengths, source_lengths, self.target),
            (backwards, cells.source, source, source_lengths, target_lengths, self.source),
        )
        return np.mean([evidence(*each) for each in both], axis=0)

    def places(self, source: Integers, target: Integers) -> Integers:
        """The index of each pair of words in the tables; the last entry is for unknown pairs."""
        if not len(self.keys):
            return np.zeros(len(source), dtype=np.int64)
        keys = source * len(self.target) + target
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = (self.keys[place] == keys) & (source < len(self.source)) & (target < len(self.target))
        return np.where(known, place, len(self.keys))

    def copies(self, texts: Sequence[tuple[Sequence[str], Sequence[str]]], cells: Cells) -> Floats:
        common: dict[str, int] = {}
        sides = [
            np.array(
                [common.setdefault(word, len(common)) for pair in texts for word in pair[side]],
                dtype=np.int64,
            )
            for side in (0, 1)
        ]
        return np.where(sides[0][cells.source] == sides[1][cells.target], COPY, 0.0)


def chunks(sizes: Integers) -> list[tuple[int, int]]:
    """Runs of pairs with about CELLS cells each."""
    if not len(sizes):
        return []
    group = sizes // CELLS
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(sizes)], strict=True))


def evidence(
    probability: Floats, place: Integers, numbers: Integers, lengths: Integers, others: Integers, side: Side
) -> Floats:
    """The mean of log p(word | other side) / p(word) over the known or copied words of a side."""
    pair = np.repeat(np.arange(len(lengths)), lengths)
    likely = np.bincount(place, weights=probability, minlength=len(numbers)) / (others[pair] + 1)
    ratio = np.log(TRUST * likely / side.frequency[numbers] + 1 - TRUST)
    counted = (numbers < len(side)) | (likely > 0)
    count = np.bincount(pair, weights=counted, minlength=len(lengths))
    total = np.bincount(pair, weights=np.where(counted, ratio, 0.0), minlength=len(lengths))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count >= FEWEST_KNOWN, total / count, np.nan)


def learn_lexicon(pairs: Iterable[tuple[str, str]]) -> Lexicon:
    texts = [(stems(source), stems(target)) for source, target in pairs]
    source_side, target_side = Side.of(each for each, _ in texts), Side.of(each for _, each in texts)
    source, source_lengths = source_side.encode([each for each, _ in texts])
    target, target_lengths = target_side.encode([each for _, each in texts])
    cells = Cells.of(source_lengths, target_lengths)
    first, second = source[cells.source], target[cells.target]
    known = (first < len(source_side)) & (second < len(target_side))
    keys, entry, together = np.unique(
        first[known] * len(target_side) + second[known], return_inverse=True, return_counts=True
    )
    often = (together >= FEWEST_TOGETHER)[entry]
    used = np.flatnonzero(known)[often]
    kept, entry = np.unique(entry[often], return_inverse=True)
    keys = keys[kept]
    source_of, target_of = np.divmod(keys, max(1, len(target_side)))
    forwards = expectation_maximization(entry, cells.target[used], len(target), source_of, len(keys))
    backwards = expectation_maximization(entry, cells.source[used], len(source), target_of, len(keys))
    worth = (forwards >= LEAST) | (backwards >= LEAST)
    return Lexicon(
        source=source_side,
        target=target_side,
        keys=keys[worth],
        target_given_source=np.append(forwards[worth], 0.0),
        source_given_target=np.append(backwards[worth], 0.0),
    )


def expectation_maximization(
    entry: Integers, explained: Integers, places: int, given: Integers, entries: int
) -> Floats:
    """The probability of every entry of the dictionary.

    `entry` is the dictionary entry of every cell, `explained` the position of the word that it explains, and `given` the
    word of every entry. The probabilities of the entries of one word add up to 1.
    """
    probability = np.ones(entries)
    for _ in range(ROUNDS):
        share = probability[entry]
        share /= np.bincount(explained, weights=share, minlength=places)[explained]
        count = np.bincount(entry, weights=share, minlength=entries)
        probability = count / np.bincount(given, weights=count)[given]
    return probability
