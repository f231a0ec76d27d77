"""Duplicates: the first of the corpus stays, and MinHash estimates how alike two pairs are."""

import random
from itertools import pairwise

import numpy as np

from qkv.corpus.duplicates import first_occurrences, originals, pair_fingerprint, signatures_of, word_hashes

WORDS = [f"word{number}" for number in range(500)]


def long_pair(generator: random.Random, length: int = 30) -> tuple[str, str]:
    return " ".join(generator.sample(WORDS, length)), " ".join(generator.sample(WORDS, length))


def similarity(one: tuple[str, str], other: tuple[str, str]) -> float:
    """The Jaccard similarity that the signatures estimate."""
    first, second = (set(pairwise(row)) for row in (word_hashes(*one), word_hashes(*other)))
    return len(first & second) / len(first | second)


def test_case_punctuation_and_spaces_make_no_difference_and_numbers_do() -> None:
    assert pair_fingerprint("Hello,  Tom!", "Hallo Tom.") == pair_fingerprint("hello tom", "„Hallo“, Tom")
    assert pair_fingerprint("It is 7:30.", "Es ist 7:30.") != pair_fingerprint("It is 8:30.", "Es ist 8:30.")
    assert pair_fingerprint("a b", "c") != pair_fingerprint("a", "b c")
    assert pair_fingerprint("!", "!") != pair_fingerprint("?", "?")


def test_the_first_of_equal_pairs_stays() -> None:
    assert first_occurrences(np.array([5, 3, 5, 5, 1, 3], dtype=np.uint64)).tolist() == [
        True, True, False, False, True, False,
    ]  # fmt: skip


def test_agreement_of_signatures_estimates_the_similarity_of_pairs() -> None:
    generator = random.Random(1)
    for changes in (1, 4, 10):
        found, true = [], []
        for _ in range(100):
            source, target = long_pair(generator)
            changed = source.split()
            for place in generator.sample(range(len(changed)), changes):
                changed[place] = "other"
            pair = (" ".join(changed), target)
            one, other = signatures_of([(source, target), pair])
            found.append((one == other).mean())
            true.append(similarity((source, target), pair))
        assert abs(np.mean(found) - np.mean(true)) < 0.03


def test_a_long_pair_with_one_other_word_is_a_near_duplicate_and_a_short_one_is_not() -> None:
    generator = random.Random(2)
    pairs = [long_pair(generator) for _ in range(50)]
    source, target = pairs[20]
    pairs.append((source.replace(source.split()[4], "other"), target))
    pairs += [("I see a dog", "Ich sehe einen Hund"), ("I see a cat", "Ich sehe eine Katze")]
    assert originals(signatures_of(pairs), 0.8).tolist() == [-1] * 50 + [20, -1, -1]


def test_signatures_depend_neither_on_neighbours_nor_on_the_process() -> None:
    pairs = [long_pair(random.Random(number), 8) for number in range(5)]
    together = signatures_of(pairs)
    assert np.array_equal(together, np.concatenate([signatures_of([pair]) for pair in pairs]))
    assert signatures_of([("the cat", "die Katze")])[0, :4].tolist() == [25665, 22380, 10430, 2499]
    assert signatures_of([]).shape == (0, 32)
