"""Rules for the next id: each changes scores, given the ids generated so far, and keeps no state between steps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

NEVER = float("-inf")
FORCED_FLOOR = -1e4  # the lower bound on the score of a forced id
NOTHING = -1  # fills empty cells in a table of ids
FORBIDDEN = -1  # instead of a state of an automaton


class Rule(Protocol):
    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        """New scores (N, V) of the ids after `generated` (N, length); rows (N) is the sentence of each row."""
        ...


def under(rules: Iterable[Rule], scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
    for rule in rules:
        scores = rule(scores, generated, rows)
    return scores


@dataclass(frozen=True)
class RepetitionPenalty:
    """Multiplies the log-probability of ids that occurred before by a factor (Keskar et al. 2019)."""

    factor: float

    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        return scores.scatter(1, generated, scores.gather(1, generated) * self.factor)


@dataclass(frozen=True)
class NoRepeat:
    """No n-gram of this size occurs twice."""

    size: int

    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        known = generated.shape[1] - self.size + 1  # complete n-grams
        if known < 1:
            return scores
        begins = (
            generated[:, :-1].unfold(1, self.size - 1, 1)
            if self.size > 1
            else generated[:, :, None][:, :, :0]
        )
        now = generated[:, generated.shape[1] - self.size + 1 :]  # the n-gram that the next id would complete
        again = (begins[:, :known] == now[:, None]).all(-1)  # (N, known)
        ends = generated[:, self.size - 1 :]  # (N, known): the last id of each
        return scores.scatter_reduce(1, ends, torch.where(again, NEVER, float("inf")), "amin")


class Prefixes:
    """Each sentence begins with given ids."""

    def __init__(self, prefixes: Sequence[Sequence[int]], device: torch.device | None = None):
        self.table = table_of(prefixes, device)  # (B, P)

    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        if generated.shape[1] >= self.table.shape[1]:
            return scores
        wanted = self.table[rows, generated.shape[1], None]  # (N, 1)
        required = wanted != NOTHING
        return torch.where(required, nothing_but(wanted, required, scores), scores)


class Forbidden:
    """Phrases that must not occur, however they are tokenized.

    A phrase is an automaton over ids: `automata` (P, states, V) hold the state after each id, or FORBIDDEN if the id
    would complete the phrase. State 0 is the initial state. `phrases` are those of each sentence.
    """

    def __init__(self, automata: Tensor, phrases: Sequence[Sequence[int]]):
        self.automata, self.phrases = automata, table_of(phrases, automata.device)  # (B, C)

    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        phrase = self.phrases[rows]  # (N, C)
        which, state = phrase.clamp(min=0), torch.zeros_like(phrase)
        for place in range(generated.shape[1]):
            state = (
                self.automata[which, state, generated[:, place, None]].long().clamp(min=0)
            )  # 0 after a forced id
        out = (self.automata[which, state] == FORBIDDEN) & (phrase != NOTHING)[..., None]  # (N, C, V)
        return scores.masked_fill(out.any(1), NEVER)


class NotEmpty:
    """A hypothesis has at least one id before its end."""

    def __init__(self, end: int):
        self.end = end

    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        if generated.shape[1]:
            return scores
        return scores.index_fill(1, torch.tensor([self.end], device=scores.device), NEVER)


class TakeTurns:
    """Allows the ids of each turn in rotation: at position n those of turn n, counted from `first`."""

    def __init__(self, turns: Sequence[Sequence[int]], vocab: int, first: int = 0):
        self.allowed, self.first = torch.zeros(len(turns), vocab, dtype=torch.bool), first
        for turn, ids in enumerate(turns):
            self.allowed[turn, list(ids)] = True

    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        turn = (self.first + generated.shape[1]) % len(self.allowed)
        return scores.masked_fill(~self.allowed[turn].to(scores.device), NEVER)


class PhraseTable:
    """The phrases of each sentence in a batch, as a table."""

    def __init__(self, phrases: Sequence[Sequence[Sequence[int]]], device: torch.device | None = None):
        most = max((len(each) for each in phrases), default=0)
        longest = max((len(phrase) for each in phrases for phrase in each), default=0)
        self.ids = torch.full((len(phrases), most, longest), NOTHING, device=device)  # (B, C, n)
        self.lengths = torch.zeros(len(phrases), most, dtype=torch.long, device=device)  # (B, C)
        for row, each in enumerate(phrases):
            for column, phrase in enumerate(each):
                if not phrase:
                    raise ValueError("a phrase must have at least one id")
                self.ids[row, column, : len(phrase)] = torch.tensor(phrase, device=device)
                self.lengths[row, column] = len(phrase)


def begun(ids: Tensor, lengths: Tensor, generated: Tensor) -> Tensor:
    """How many ids of each phrase, (N, C, n), the generated ids end with, (N, C); never the whole phrase."""
    found = torch.zeros_like(lengths)
    for count in range(1, min(ids.shape[2], generated.shape[1] + 1)):
        tail = generated[:, None, generated.shape[1] - count :]  # (N, 1, count)
        same = (ids[..., :count] == tail).all(-1) & (count < lengths)
        found = torch.where(same, count, found)
    return found


def nothing_but(ids: Tensor, which: Tensor, scores: Tensor) -> Tensor:
    """Minus infinity for all ids except (N, C) where `which` is True. It overrides other rules."""
    wanted = torch.zeros_like(scores, dtype=torch.bool)
    wanted.scatter_reduce_(1, ids.clamp(min=0), which, "amax")
    return torch.where(wanted, scores.clamp(min=FORCED_FLOOR), NEVER)


def forbid(scores: Tensor, ids: Tensor, which: Tensor) -> Tensor:
    """Minus infinity for ids (N, C) where `which` is True."""
    unchanged = torch.full_like(scores[:, :1], float("inf")).expand(ids.shape)
    values = torch.where(which, NEVER, unchanged)
    return scores.scatter_reduce(1, ids.clamp(min=0), values, "amin")


def table_of(sequences: Sequence[Sequence[int]], device: torch.device | None = None) -> Tensor:
    """Sequences of ids as rows of one table, (B, longest)."""
    table = torch.full((len(sequences), max(map(len, sequences), default=0)), NOTHING, device=device)
    for row, ids in enumerate(sequences):
        table[row, : len(ids)] = torch.tensor(ids, dtype=torch.long, device=device)
    return table
