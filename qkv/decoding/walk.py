"""Decoding token by token without backtracking: the common part of greedy decoding, sampling and streaming."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from qkv.decoding.rules import Rule, under
from qkv.decoding.step import Hypothesis, Step

Choose = Callable[[Tensor, int, Tensor], Tensor]
"""Takes scores (N, V), the number of ids so far, and the sentence of each row (N). Returns the next ids (N)."""


@dataclass(frozen=True)
class Stride:
    """The result of one step, for the sentences that have not ended."""

    rows: Tensor  # (N)
    ids: Tensor  # (N)
    scores: Tensor  # (N) under the rules
    log_probabilities: Tensor  # (N) of the model alone


def walk(
    step: Step, start: Tensor, end: int, limits: Tensor, choose: Choose, rules: Sequence[Rule] = ()
) -> Iterator[Stride]:
    """Yield strides until every row has ended. start (B) is the first id of each row, limits (B) the maximum lengths.

    A finished row leaves the batch at once.
    """
    if int(limits.min()) < 1:
        raise ValueError("every row must be allowed at least one id")
    rows = torch.arange(len(start), device=start.device)
    newest, generated = start, start[:, None][:, :0]  # (N), (N, length)
    for length in range(1, int(limits.max()) + 1):
        log_probabilities = step(newest[:, None]).float().log_softmax(-1)  # (N, V)
        scores = under(rules, log_probabilities, generated, rows)
        newest = choose(scores, length - 1, rows)
        own, ruled = (each.gather(1, newest[:, None])[:, 0] for each in (log_probabilities, scores))
        yield Stride(rows, newest, ruled, own)
        generated = torch.cat([generated, newest[:, None]], dim=1)
        going = ((newest != end) & (length < limits[rows])).nonzero()[:, 0]
        if len(going) == 0:
            return
        if len(going) < len(rows):
            step.select(going)
            rows, newest, generated = rows[going], newest[going], generated[going]


def gathered(strides: Iterator[Stride], count: int, end: int) -> list[Hypothesis]:
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
