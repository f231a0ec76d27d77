"""A phrase to avoid as an automaton over the tokens of a vocabulary."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qkv.errors import UserError

NO = -1  # instead of a state: this token would complete the phrase


def automaton(phrase: str, pieces: Sequence[bytes]) -> NDArray[np.int16]:
    """(states, V): how many bytes of the phrase the text ends with after each token, or NO."""
    wanted = phrase.encode("utf-8")
    if not wanted:
        raise UserError("an empty phrase cannot be avoided: every text contains it.")
    back = failures(wanted)
    return np.array(
        [[after(state, piece, wanted, back) for piece in pieces] for state in range(len(wanted))], np.int16
    )


def stacked(tables: Sequence[NDArray[np.int16]]) -> NDArray[np.int16]:
    """Automata of one vocabulary as one table, (P, states, V). Missing states are 0."""
    found = np.zeros((len(tables), max(map(len, tables)), tables[0].shape[1]), np.int16)
    for number, table in enumerate(tables):
        found[number, : len(table)] = table
    return found


def failures(wanted: bytes) -> list[int]:
    """For each number of matching bytes, the most that still match if the next one does not (Knuth, Morris, Pratt)."""
    back, length = [0] * len(wanted), 0
    for place in range(1, len(wanted)):
        while length and wanted[place] != wanted[length]:
            length = back[length - 1]
        length += wanted[place] == wanted[length]
        back[place] = length
    return back


def after(state: int, piece: bytes, wanted: bytes, back: Sequence[int]) -> int:
    for byte in piece:
        while state and byte != wanted[state]:
            state = back[state - 1]
        state += byte == wanted[state]
        if state == len(wanted):
            return NO
    return state
