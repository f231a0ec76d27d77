"""A finite automaton over tokens that accepts only valid UTF-8, so that no character is incomplete."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qkv.text.avoid import NO, over_tokens

MORE = range(0x80, 0xC0)  # bytes that continue a character
WHOLE, ONE, TWO, THREE = range(4)  # between characters, or this many bytes before the end of one
NOT_OVERLONG_3, NO_SURROGATE, NOT_OVERLONG_4, NOT_TOO_LARGE = range(4, 8)  # the next byte is more restricted

MOVES: dict[int, list[tuple[range, int]]] = {
    WHOLE: [
        (range(0x80), WHOLE),
        (range(0xC2, 0xE0), ONE),
        (range(0xE0, 0xE1), NOT_OVERLONG_3),
        (range(0xE1, 0xED), TWO),
        (range(0xED, 0xEE), NO_SURROGATE),
        (range(0xEE, 0xF0), TWO),
        (range(0xF0, 0xF1), NOT_OVERLONG_4),
        (range(0xF1, 0xF4), THREE),
        (range(0xF4, 0xF5), NOT_TOO_LARGE),
    ],
    ONE: [(MORE, WHOLE)],
    TWO: [(MORE, ONE)],
    THREE: [(MORE, TWO)],
    NOT_OVERLONG_3: [(range(0xA0, 0xC0), ONE)],
    NO_SURROGATE: [(range(0x80, 0xA0), ONE)],
    NOT_OVERLONG_4: [(range(0x90, 0xC0), TWO)],
    NOT_TOO_LARGE: [(range(0x80, 0x90), TWO)],
}


def moves() -> NDArray[np.int16]:
    """The state after each byte, (states + 1, 256). The last state is final: the text is not valid."""
    found = np.full((len(MOVES) + 1, 256), len(MOVES), np.int16)
    for state, each in MOVES.items():
        for bytes_, after in each:
            found[state, bytes_] = after
    return found


def whole_characters(tokens: Sequence[bytes], end: int) -> NDArray[np.int16] | None:
    """For each state and token, the next state, or NO if the token must not follow. (states, V)

    None if all tokens are whole characters. The end token may follow only after a whole character.
    """
    table = over_tokens(moves(), tokens)
    if (table[WHOLE] == WHOLE).all():
        return None
    table[1:, end] = NO
    return table
