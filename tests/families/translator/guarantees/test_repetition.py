"""A loop is told from a text that repeats itself for a reason."""

import pytest

from qkv.families.translator.guarantees.repetition import is_loop, repeats_a_word


@pytest.mark.parametrize(
    ("said", "source", "loops"),
    [
        ([5, 6, 7, 8], [1, 2, 3], False),
        ([5, 5, 5, 5], [1, 2, 3], True),
        ([5, 5, 5, 5], [1, 1, 1, 1], False),
        ([5] * 12, [1, 1, 1, 1], True),
        ([5, 6, 7, 5, 6, 7], [1, 2, 3], False),
        ([5, 6, 7, 5, 6, 7, 5, 6, 7], [1, 2, 3], True),
        ([9, 5, 6, 5, 6, 5, 6, 5, 6], [1, 2], True),
        ([], [1], False),
    ],
)
def test_a_repetitive_source_does_not_count_as_a_loop(
    said: list[int], source: list[int], loops: bool
) -> None:
    assert is_loop(said, source) == loops


@pytest.mark.parametrize(
    ("said", "source", "loops"),
    [
        ("der Hund Hund Hund schläft", "the dog is sleeping", True),
        ("Der der der Hund", "the dog", True),
        ("das ist sehr sehr gut", "that is very good", False),
        ("he said that that man left", "er sagte, dass jener Mann ging", False),
        ("sehr sehr sehr gut", "very very very good", False),
        ("nein nein nein nein", "no no no", False),
        ("nein nein nein nein nein", "no no no", True),
        ("die, die die Katze sehen", "those who see the cat", False),
        ("ja – – – nein", "yes … no", False),
        ("5 5 5", "five", True),
        ("", "", False),
    ],
)
def test_three_equal_words_in_a_row_are_a_loop_unless_the_source_repeats_words_too(
    said: str, source: str, loops: bool
) -> None:
    assert repeats_a_word(said, [source]) == loops


def test_a_word_may_repeat_if_the_prefix_or_a_phrase_repeats_it() -> None:
    assert not repeats_a_word("ha ha ha sagte er", ["he laughed", "ha ha ha"])
