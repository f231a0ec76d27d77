"""A phrase is avoided however the text is split into tokens."""

from hypothesis import given
from hypothesis import strategies as st

from qkv.text.avoid import NO, automaton

PIECES = [
    b"",
    b"a",
    b"b",
    b"c",
    b"ab",
    b"ba",
    b"bc",
    b"abc",
    b"cab",
    "ä".encode(),
    "ä".encode()[:1],
    "ä".encode()[1:],
]
phrases = st.text("abcä", min_size=1, max_size=5)


@given(phrases, st.lists(st.integers(0, len(PIECES) - 1), max_size=12))
def test_only_a_token_that_completes_the_phrase_is_forbidden(phrase: str, ids: list[int]) -> None:
    table, wanted = automaton(phrase, PIECES), phrase.encode()
    state, text = 0, b""
    for number in ids:
        state = int(table[state, number])
        text += PIECES[number]
        assert (state == NO) == (wanted in text)
        if state == NO:
            break


def test_every_state_is_the_longest_match_of_what_was_said() -> None:
    wanted = "abcabä".encode()
    table = automaton("abcabä", PIECES)
    for state in range(len(wanted)):
        for number, piece in enumerate(PIECES):
            text = wanted[:state] + piece
            longest = max(n for n in range(len(wanted)) if text.endswith(wanted[:n]))
            assert table[state, number] == (NO if wanted in text else longest)
