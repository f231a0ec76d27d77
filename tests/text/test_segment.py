"""Long text is split into segments that fit and that join to the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.text.segment import split_to_fit
from qkv.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer.learn(["the cat danced. the cats dance!\nabcd bcde cdef abc bcd cde"] * 5, 310)

MANY_STOPS = st.text(st.sampled_from("ab .!?…。！\"')\n\t "), max_size=200)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def pieces_of_vocabulary(text: str) -> int:
    return len(TOKENIZER.encode(text))


@settings(max_examples=300, deadline=None)
@given(st.one_of(MANY_STOPS, ANY_TEXT), st.integers(1, 40))
def test_segments_add_up_to_the_text_and_each_fits(text: str, limit: int) -> None:
    pieces = split_to_fit(text, len, limit)
    assert "".join(pieces) == text
    assert all(len(piece) <= limit for piece in pieces)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("abcde \n\t.é猫"), max_size=120), st.integers(5, 12))
def test_segments_fit_by_a_size_that_is_not_additive(text: str, limit: int) -> None:
    """Two strings may have more subwords together than the sum of them apart."""
    pieces = split_to_fit(text, pieces_of_vocabulary, limit)
    assert "".join(pieces) == text
    assert all(pieces_of_vocabulary(piece) <= limit for piece in pieces)


def test_a_text_that_is_larger_joined_than_apart_is_still_made_to_fit() -> None:
    def size(text: str) -> int:
        return len(text) + 5 * text.count("ab")

    pieces = split_to_fit("a b" * 20 + "ababab", size, 8)
    assert "".join(pieces) == "a b" * 20 + "ababab"
    assert max(map(size, pieces)) <= 8


def test_a_text_that_fits_is_left_whole_even_with_many_sentences() -> None:
    text = "One. Two! Three?"
    assert split_to_fit(text, len, len(text)) == [text]


def test_sentences_are_kept_whole_and_apart() -> None:
    text = "A cat danced. A dog sang!  “Who knows?” Nobody… The end"
    assert split_to_fit(text, len, 20) == [
        "A cat danced. ",
        "A dog sang!  ",
        "“Who knows?” ",
        "Nobody… ",
        "The end",
    ]


def test_many_spaces_after_a_full_stop_still_end_a_sentence() -> None:
    assert split_to_fit("One.      Two.", len, 13) == ["One.      ", "Two."]


def test_chinese_sentences_end_without_a_space() -> None:
    assert split_to_fit("猫跳舞。狗唱歌！完", len, 5) == ["猫跳舞。", "狗唱歌！", "完"]


def test_a_period_inside_a_number_or_a_name_does_not_end_a_sentence() -> None:
    assert split_to_fit("It is 3.14 at example.org today. Yes.", len, 33) == [
        "It is 3.14 at example.org today. ",
        "Yes.",
    ]


def test_a_line_of_ten_thousand_words_without_a_stop_is_cut_between_words() -> None:
    text = " ".join(f"word{number}" for number in range(10_000))
    pieces = split_to_fit(text, lambda part: len(part.split()), 64)
    assert "".join(pieces) == text
    assert all(piece.endswith(" ") for piece in pieces[:-1])
    assert len(pieces) == -(-10_000 // 64), "each piece is as full as it can be"


def test_one_huge_word_is_cut_between_characters() -> None:
    word = "Donaudampfschifffahrt" * 500
    pieces = split_to_fit(word, len, 100)
    assert "".join(pieces) == word
    assert all(50 <= len(piece) <= 100 for piece in pieces[:-1])


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_text_without_a_word_is_one_segment(text: str) -> None:
    assert split_to_fit(text, len, 10) == [text]


def test_a_character_larger_than_the_limit_stands_alone_rather_than_being_lost() -> None:
    assert split_to_fit("a👍b", lambda part: 4 * part.count("👍") + len(part), 2) == ["a", "👍", "b"]
