"""A finite automaton over tokens that finds a banned phrase."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qkv.errors import InputError

NO = -1  # instead of a state: this token would complete the phrase


def automaton(phrase: str, tokens: Sequence[bytes]) -> NDArray[np.int16]:
    """For each state and token, how many bytes of the phrase the text then ends with, or NO. (states, V)"""
    wanted = phrase.encode("utf-8")
    if not wanted:
        raise InputError("an empty phrase cannot be avoided: every text contains it.")
    return over_tokens(moves(wanted), tokens)


def over_tokens(moves: NDArray[np.int16], tokens: Sequence[bytes]) -> NDArray[np.int16]:
    """From an automaton over bytes to one over tokens, (states, V).

    `moves` (states + 1, 256) has the state after each byte. Its last state is final and stands for NO.
    """
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    starts, content = lengths.cumsum() - lengths, np.frombuffer(b"".join(tokens), np.uint8)
    order = (-lengths).argsort()  # the longest first, so that the tokens with another byte are the first ones
    final = len(moves) - 1
    after = np.repeat(np.arange(final, dtype=np.int16)[:, None], len(tokens), axis=1)
    for place in range(int(lengths.max(initial=0))):
        longer = order[: np.count_nonzero(lengths > place)]
        after[:, : len(longer)] = moves[after[:, : len(longer)], content[starts[longer] + place]]
    found = np.empty_like(after)
    found[:, order] = np.where(after == final, NO, after)
    return found


def stack_tables(tables: Sequence[NDArray[np.int16]]) -> NDArray[np.int16]:
    """Automata of one vocabulary as one table, (P, states, V). Missing states are 0."""
    found = np.zeros((len(tables), max(map(len, tables)), tables[0].shape[1]), np.int16)
    for number, table in enumerate(tables):
        found[number, : len(table)] = table
    return found


def moves(wanted: bytes) -> NDArray[np.int16]:
    """How many bytes of the phrase match after each byte (Knuth, Morris, Pratt), (length + 1, 256)."""
    found = np.zeros((len(wanted) + 1, 256), np.int16)
    back = 0  # the state of a text that is one byte behind
    for state, byte in enumerate(wanted):
        found[state] = found[back]
        found[state, byte] = state + 1
        back = int(found[back, byte]) if state else 0
    found[-1] = len(wanted)
    return found
