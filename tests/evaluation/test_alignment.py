"""Alignments: their error, and a dictionary that pairs alone teach."""

import random

import pytest

from qkv.data.worlds import pairs
from qkv.evaluation.alignment import Dictionary, alignment_error, copied_words
from qkv.text.words import WORDS_AND_MARKS


def test_the_alignment_error_counts_missing_and_extra_links() -> None:
    assert alignment_error([[(0, 0), (1, 1)]], [[(0, 0), (1, 1)]]) == 0
    assert alignment_error([[(0, 1)]], [[(0, 0)]]) == 100
    assert alignment_error([[(0, 0)]], [[(0, 0), (1, 1)]]) == pytest.approx(100 / 3)
    assert alignment_error([[]], [[]]) == 0


def test_a_dictionary_is_learned_from_pairs_without_alignments() -> None:
    words = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier"}
    generator = random.Random(1)
    texts = [generator.sample(list(words), 3) for _ in range(200)]
    shuffled = [generator.sample([words[word] for word in text], 3) for text in texts]
    dictionary = Dictionary(list(zip(texts, shuffled, strict=True)))
    for source, target in words.items():
        assert dictionary(source, target) > 0.7
        assert all(dictionary(source, other) < 0.1 for other in words.values() if other != target)
    assert dictionary("five", "eins") == dictionary("one", "unknown") < 1e-5


def test_on_a_built_in_language_the_dictionary_prefers_the_gold_links() -> None:
    known = pairs("en", "de", 1_500, part="train")
    dictionary = Dictionary(
        [(WORDS_AND_MARKS.findall(each.source), WORDS_AND_MARKS.findall(each.target)) for each in known]
    )
    found, gold = [], []
    for pair in known[:200]:
        source, target = WORDS_AND_MARKS.findall(pair.source), WORDS_AND_MARKS.findall(pair.target)
        found.append(
            [
                (max(range(len(source)), key=lambda i: dictionary(source[i], word)), j)
                for j, word in enumerate(target)
            ]
        )
        gold.append(pair.alignment)
    assert alignment_error(found, gold) < 40


def test_copied_words_are_aligned_with_themselves() -> None:
    texts = [
        ("Tom saw a film", "Tom sah einen Film"),
        ("the hand", "die Hand"),
        ("Tom in Boston", "Tom in Boston"),
    ]
    found = copied_words([(one.split(), other.split()) for one, other in texts] * 5, fewest=5, most=8)
    assert found[0] == "Tom"
    assert set(found) == {"Tom", "in", "Boston"}
    assert copied_words([(["a"], ["a"])] * 3, fewest=5, most=8) == []
