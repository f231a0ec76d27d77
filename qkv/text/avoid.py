"""A finite automaton over tokens that finds a banned phrase."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qkv.errors import UserError

NO = -1  # instead of a state: this token would complete the phrase


def automaton(phrase: str, tokens: Sequence[bytes]) -> NDArray[np.int16]:
    """For each state and token, how many bytes of the phrase the text then ends with, or NO. (states, V)"""
    wanted = phrase.encode("utf-8")
    if not wanted:
        raise UserError("an empty phrase cannot be avoided: every text contains it.")
    back = failure_links(wanted)
    rows = [[next_state(state, token, wanted, back) for token in tokens] for state in range(len(wanted))]
    return np.array(rows, np.int16)


def stack_tables(tables: Sequence[NDArray[np.int16]]) -> NDArray[np.int16]:
    """Automata of one vocabulary as one table, (P, states, V). Missing states are 0."""
    found = np.zeros((len(tables), max(map(len, tables)), tables[0].shape[1]), np.int16)
    for number, table in enumerate(tables):
        found[number, : len(table)] = table
    return found


def failure_links(wanted: bytes) -> list[int]:
    """The failure function of the Knuth–Morris–Pratt algorithm."""
    back, length = [0] * len(wanted), 0
    for place in range(1, len(wanted)):
        while length and wanted[place] != wanted[length]:
            length = back[length - 1]
        length += wanted[place] == wanted[length]
        back[place] = length
    return back


def next_state(state: int, token: bytes, wanted: bytes, back: Sequence[int]) -> int:
    for byte in token:
        while state and byte != wanted[state]:
            state = back[state - 1]
        state += byte == wanted[state]
        if state == len(wanted):
            return NO
    return state
