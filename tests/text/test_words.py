"""Tokens and words: every token belongs to the word that contains its bytes."""

from hypothesis import given
from hypothesis import strategies as st

from qkv.text.tokenizer import Tokenizer
from qkv.text.words import SPACE_SEPARATED, WORDS_AND_MARKS, spans, words_of_tokens

LINES = ["the cat danced", "Größe und Übermut", "don't park here!", "Tom's 3.5 °C …"]
TOKENIZER = Tokenizer.learn(LINES * 4, 330)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(texts)
def test_words_are_found_as_bytes(text: str) -> None:
    raw = text.encode()
    assert [
        raw[start:end].decode() for start, end in spans(text, SPACE_SEPARATED)
    ] == SPACE_SEPARATED.findall(text)
    assert [
        raw[start:end].decode() for start, end in spans(text, WORDS_AND_MARKS)
    ] == WORDS_AND_MARKS.findall(text)


@given(texts)
def test_the_tokens_of_a_text_cover_its_bytes_in_order(text: str) -> None:
    ids = TOKENIZER.encode(text)
    found = TOKENIZER.spans(ids)
    assert [end for _, end in found] == [start for start, _ in found[1:]] + (
        [len(text.encode())] if found else []
    )
    raw, pieces = text.encode(), TOKENIZER.token_bytes
    for place, (number, (start, end)) in enumerate(zip(ids, found, strict=True)):
        written = pieces[number][1:] if place == 0 else pieces[number]
        assert raw[start:end] == written


def test_each_token_has_its_word_and_spaces_have_none() -> None:
    text = "don't  park"
    words = spans(text, SPACE_SEPARATED)
    assert words_of_tokens([(0, 3), (3, 5), (5, 6), (6, 8), (8, 11)], words) == [0, 0, None, 1, 1]
    assert words_of_tokens([(0, 3)], []) == [None]


def test_tokens_that_continue_words_differ_from_those_that_begin_them() -> None:
    begins, pieces = TOKENIZER.starts_word, TOKENIZER.token_bytes
    assert begins[TOKENIZER.end]
    assert not begins[TOKENIZER.pad]
    for number in range(3, len(TOKENIZER)):
        assert begins[number] == (chr(pieces[number][0]) in " \t\n.,;:!?)]}\"'")
