"""The automaton allows what Python's own decoder of UTF-8 allows, and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from qkv.text.avoid import NO, over_tokens
from qkv.text.tokenizer import Tokenizer
from qkv.text.whole_characters import WHOLE, moves, whole_characters


def after(state: int, content: bytes) -> int:
    return int(over_tokens(moves(), [content])[state, 0])


def is_whole(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


edges = st.sampled_from(
    [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5]
)


@settings(max_examples=500)
@given(st.one_of(st.binary(max_size=8), st.lists(edges, max_size=6).map(bytes), st.text().map(str.encode)))
def test_the_automaton_accepts_exactly_what_python_decodes(content: bytes) -> None:
    assert (after(WHOLE, content) == WHOLE) == is_whole(content)


@settings(max_examples=100)
@given(st.text(min_size=1, max_size=3).map(str.encode), st.integers(0, 11))
def test_whatever_begins_a_character_is_allowed(content: bytes, cut: int) -> None:
    assert after(WHOLE, content[: cut % len(content)]) != NO


def test_a_vocabulary_of_bytes_may_end_between_characters_only() -> None:
    tokenizer = Tokenizer.learn(["Größe 猫"], 270)
    table = whole_characters(tokenizer.token_bytes, tokenizer.end)
    assert table is not None
    assert table[WHOLE, tokenizer.end] == WHOLE
    assert (table[1:, tokenizer.end] == NO).all()
    state = WHOLE
    for piece in tokenizer.encode("Größe 猫👍"):
        state = int(table[state, piece])
        assert state != NO
    assert state == WHOLE


def test_a_vocabulary_of_whole_characters_needs_no_rule() -> None:
    assert whole_characters([b"", "ä".encode(), b"abc"], 0) is None
