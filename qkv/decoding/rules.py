"""Rules for the next id: each changes scores, given the ids generated so far. What is remembered between steps is in `Under`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qkv.decoding.arrays import Array, Arrays, arrays_of

NEVER = float("-inf")
FORCED_FLOOR = -1e4  # the lower bound on the score of a forced id
NOTHING = -1  # fills empty cells in a table of ids
FORBIDDEN = -1  # instead of a state of an automaton


class Rule(Protocol):
    def acts(self, length: int) -> bool:
        """Whether it can change scores after this many ids."""
        ...

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        """Change the scores (N, V) of the ids after `generated` (N, length); rows (N) is the sentence of each row."""
        ...


class Under:
    """Scores under rules, during one search. The given ones stay as they are; the next call overwrites the returned ones."""

    def __init__(self, rules: Iterable[Rule]):
        self.rules = [FollowedPhrases(rule) if isinstance(rule, Forbidden) else rule for rule in rules]
        self.space: Array | None = (
            None  # allocated once: new memory at every step takes longer than the rules
        )

    def __call__(self, scores: Array, generated: Array, rows: Array) -> Array:
        acting = [rule for rule in self.rules if rule.acts(generated.shape[1])]
        if not acting:
            return scores
        if self.space is None or len(self.space) < len(scores):
            self.space = arrays_of(scores).empty_like(scores)
        changed = self.space[: len(scores)]
        changed[:] = scores
        for rule in acting:
            rule(changed, generated, rows)
        return changed

    def select(self, order: Array) -> None:
        """Continue with these rows: row n of the next call has the ids of row order[n] of the last one, and one more."""
        for rule in self.rules:
            if isinstance(rule, FollowedPhrases):
                rule.select(order)


def under(rules: Iterable[Rule], scores: Array, generated: Array, rows: Array) -> Array:
    return Under(rules)(scores, generated, rows)


class Table:
    """A table of a rule. It is moved once to the arrays of the scores."""

    def __init__(self, values: Any):
        self.values = values

    def on(self, arrays: Arrays) -> Array:
        self.values = arrays.asarray(self.values)
        return self.values


@dataclass(frozen=True)
class RepetitionPenalty:
    """Multiplies the log-probability of ids that occurred before by a factor (Keskar et al. 2019)."""

    factor: float

    def acts(self, length: int) -> bool:
        return length > 0

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        line = arrays_of(scores).arange(len(scores))[:, None]
        scores[line, generated] = scores[line, generated] * self.factor


@dataclass(frozen=True)
class NoRepeat:
    """No n-gram of this size occurs twice."""

    size: int

    def acts(self, length: int) -> bool:
        return length >= self.size

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        arrays = arrays_of(scores)
        ends = generated[:, self.size - 1 :]  # (N, known): the last id of each n-gram
        begins = windows(arrays, generated[:, :-1], self.size - 1)[:, : ends.shape[1]]  # (N, known, size - 1)
        now = generated[:, generated.shape[1] - self.size + 1 :]  # the n-gram that the next id would complete
        forbid(arrays, scores, ends, (begins == now[:, None]).all(axis=-1))


class Prefixes:
    """Each sentence begins with given ids."""

    def __init__(self, prefixes: Sequence[Sequence[int]]):
        self.longest = max(map(len, prefixes), default=0)
        self.table = Table(table_of(prefixes))  # (B, P)

    def acts(self, length: int) -> bool:
        return length < self.longest

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        arrays = arrays_of(scores)
        wanted = self.table.on(arrays)[rows, generated.shape[1]]  # (N)
        Forced(arrays, scores, wanted[:, None], wanted[:, None] != NOTHING).apply()


class Forbidden:
    """Phrases that must not occur, however they are tokenized.

    A phrase is an automaton over ids: `automata` (P, states, V) hold the state after each id, or FORBIDDEN if the id
    would complete the phrase. State 0 is the initial state. `phrases` are those of each sentence.
    """

    def __init__(self, automata: Array, phrases: Sequence[Sequence[int]]):
        self.automata, self.phrases = Table(automata), Table(table_of(phrases))  # (P, states, V), (B, C)
        self.out: dict[tuple[int, int], Array] = {}  # the ids that a state forbids

    def acts(self, length: int) -> bool:
        return True

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        FollowedPhrases(self)(scores, generated, rows)

    def next_states(self, states: Array, ids: Array, rows: Array) -> Array:
        """The state of each automaton, (N, C), after one more id of each row, (N)."""
        arrays = arrays_of(ids)
        which = self.phrases.on(arrays)[rows].clip(min=0)  # the states of empty cells have no effect
        after = self.automata.on(arrays)[which, states, ids[:, None]] + 0 * which  # int16 to int64
        return after.clip(min=0)  # 0 after a forced id

    def forbid_after(self, states: Array, scores: Array, rows: Array) -> None:
        """Forbid the ids that complete a phrase, if its automaton is in this state, (N, C)."""
        arrays = arrays_of(scores)
        phrases = self.phrases.on(arrays)[rows]
        number, place = arrays.nonzero(phrases != NOTHING)  # (M): a row and its phrase
        which, states = phrases[number, place], states[number, place]
        if isinstance(scores, np.ndarray):
            for row, *state in zip(number.tolist(), which.tolist(), states.tolist(), strict=True):
                scores[row, self.out_in(*state)] = NEVER
        elif len(number):  # few large operations are better on a GPU
            line, token = arrays.nonzero(self.automata.on(arrays)[which, states] == FORBIDDEN)  # of (M, V)
            scores[number[line], token] = NEVER

    def out_in(self, which: int, state: int) -> Array:
        if (which, state) not in self.out:
            self.out[which, state] = np.flatnonzero(self.automata.values[which, state] == FORBIDDEN)
        return self.out[which, state]


class FollowedPhrases:
    """`Forbidden` during one search. It keeps the state of each row, so that a step takes equally long at any length."""

    def __init__(self, rule: Forbidden):
        self.rule = rule
        self.states: Array | None = None  # (N, C)
        self.length = 0  # ids of each row that the states know

    def acts(self, length: int) -> bool:
        return True

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        if self.states is None:
            self.states = 0 * self.rule.phrases.on(arrays_of(scores))[rows]
        for place in range(self.length, generated.shape[1]):
            self.states = self.rule.next_states(self.states, generated[:, place], rows)
        self.length = generated.shape[1]
        self.rule.forbid_after(self.states, scores, rows)

    def select(self, order: Array) -> None:
        if self.states is not None:
            self.states = self.states[order]


@dataclass(frozen=True)
class NotEmpty:
    """A hypothesis has at least one id before its end."""

    end: int

    def acts(self, length: int) -> bool:
        return length == 0

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        scores[:, self.end] = NEVER


class TakeTurns:
    """Allows the ids of each turn in rotation: at position n those of turn n, counted from `first`."""

    def __init__(self, turns: Sequence[Sequence[int]], vocab: int, first: int = 0):
        others = (np.setdiff1d(np.arange(vocab), np.asarray(ids, np.int64)) for ids in turns)
        self.excluded, self.first = [Table(ids) for ids in others], first

    def acts(self, length: int) -> bool:
        return True

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        turn = (self.first + generated.shape[1]) % len(self.excluded)
        scores[:, self.excluded[turn].on(arrays_of(scores))] = NEVER


class PhraseTable:
    """The phrases of each sentence in a batch, as a table."""

    def __init__(self, phrases: Sequence[Sequence[Sequence[int]]]):
        most = max((len(each) for each in phrases), default=0)
        longest = max((len(phrase) for each in phrases for phrase in each), default=0)
        ids = np.full((len(phrases), most, longest), NOTHING)
        lengths = np.zeros((len(phrases), most), np.int64)
        for row, each in enumerate(phrases):
            for column, phrase in enumerate(each):
                if not phrase:
                    raise ValueError("a phrase must have at least one id")
                ids[row, column, : len(phrase)] = phrase
                lengths[row, column] = len(phrase)
        self.needed = lengths.sum(axis=1)  # (B)
        self.ids, self.lengths = Table(ids), Table(lengths)  # (B, C, n), (B, C)

    def of(self, arrays: Arrays, rows: Array) -> tuple[Array, Array]:
        """The phrases of these sentences, (N, C, n), and their lengths, (N, C)."""
        return self.ids.on(arrays)[rows], self.lengths.on(arrays)[rows]


class Forced:
    """Ids (N, C) where `which` is True, and their scores now. `apply` forbids all others in their rows.

    It overrides rules that act between the two.
    """

    def __init__(self, arrays: Arrays, scores: Array, ids: Array, which: Array):
        self.scores = scores
        self.rows, place = arrays.nonzero(which)
        self.ids = ids[self.rows, place]
        self.values = scores[self.rows, self.ids].clip(min=FORCED_FLOOR)

    def apply(self) -> None:
        if len(self.rows):
            self.scores[self.rows] = NEVER
            self.scores[self.rows, self.ids] = self.values


def forbid(arrays: Arrays, scores: Array, ids: Array, which: Array) -> None:
    """Minus infinity for ids (N, C) where `which` is True."""
    rows, place = arrays.nonzero(which)
    if len(rows):
        scores[rows, ids[rows, place]] = NEVER


def windows(arrays: Arrays, ids: Array, size: int) -> Array:
    """Every `size` neighbors of ids (N, length), as (N, length - size + 1, size)."""
    return ids[:, arrays.arange(ids.shape[1] - size + 1)[:, None] + arrays.arange(size)]


def begun(arrays: Arrays, ids: Array, lengths: Array, generated: Array) -> Array:
    """How many ids of each phrase, (N, C, n), the generated ids end with, (N, C); never the whole phrase."""
    found = 0 * lengths
    for count in range(1, min(ids.shape[2], generated.shape[1] + 1)):
        tail = generated[:, None, generated.shape[1] - count :]  # (N, 1, count)
        same = (ids[..., :count] == tail).all(axis=-1) & (count < lengths)
        found = arrays.where(same, count, found)
    return found


def table_of(sequences: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Sequences of ids as rows of one table, (B, longest)."""
    table = np.full((len(sequences), max(map(len, sequences), default=0)), NOTHING)
    for row, ids in enumerate(sequences):
        table[row, : len(ids)] = ids
    return table
