"""Decoding token by token without backtracking: the common part of greedy decoding, sampling and streaming."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from qkv.decoding.arrays import Array, arrays_of
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import Rule, Under
from qkv.decoding.step import Step

Choose = Callable[[Array, int, Array], Array]
"""Takes scores (N, V), the number of ids so far, and the sentence of each row (N). Returns the next ids (N)."""


@dataclass(frozen=True)
class Stride:
    """The result of one step, for the sentences that have not ended."""

    rows: Array  # (N)
    ids: Array  # (N)
    scores: Array  # (N) under the rules
    log_probabilities: Array  # (N) of the model alone


def walk(
    step: Step, start: Array, end: int, limits: Array, choose: Choose, rules: Sequence[Rule] = ()
) -> Iterator[Stride]:
    """Yield strides until every row has ended. start (B) is the first id of each row, limits (B) the maximum lengths.

    A finished row leaves the batch at once.
    """
    arrays = arrays_of(start)
    if int(limits.min()) < 1:
        raise ValueError("every row must be allowed at least one id")
    rows = arrays.arange(len(start))
    newest, generated = start, start[:, None][:, :0]  # (N), (N, length)
    under = Under(rules)
    for length in range(1, int(limits.max()) + 1):
        own = arrays.log_softmax(step(newest[:, None]))  # (N, V)
        scores = under(own, generated, rows)
        newest = choose(scores, length - 1, rows)
        line = arrays.arange(len(rows))
        yield Stride(rows, newest, scores[line, newest], own[line, newest])
        (going,) = arrays.nonzero((newest != end) & (length < limits[rows]))
        if len(going) == 0:
            return
        generated = arrays.concat([generated, newest[:, None]], 1)
        if len(going) < len(rows):
            step.select(going)
            under.select(going)
            rows, newest, generated = rows[going], newest[going], generated[going]


def gather_hypotheses(strides: Iterator[Stride], count: int, end: int) -> list[Hypothesis]:
    """One hypothesis per row. Scores have no length penalty."""
    ids: list[list[int]] = [[] for _ in range(count)]
    each: list[list[float]] = [[] for _ in range(count)]
    scores, finished = [0.0] * count, [False] * count
    for stride in strides:
        columns = stride.rows, stride.ids, stride.scores, stride.log_probabilities
        for row, token, score, own in zip(*(column.tolist() for column in columns), strict=True):
            scores[row] += score
            each[row].append(own)
            if token == end:
                finished[row] = True
            else:
                ids[row].append(token)
    return [Hypothesis(*parts) for parts in zip(ids, scores, finished, each, strict=True)]
