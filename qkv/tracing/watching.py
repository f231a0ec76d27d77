"""Observe a beam search: which prefixes were alive at every step, and why others were dropped."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from qkv.decoding.step import Step


@dataclass(frozen=True)
class Prefix:
    """The prefix of a beam at some step."""

    ids: tuple[int, ...]
    total: float  # log-probability of all of it
    best: float  # and with its likeliest continuation


@dataclass(frozen=True)
class Pruned:
    """A prefix that was dropped: at this step `kept` was the lowest score that stayed."""

    prefix: Prefix
    step: int
    kept: float


class RecordedStep:
    """A step (the Step protocol) for one sentence that records its calls."""

    def __init__(self, step: Step):
        self.step = step
        self.rounds: list[list[Prefix]] = []
        self.paths: list[tuple[int, ...]] = []
        self.totals: list[float] = []
        self.log_probabilities: Tensor | None = None  # (W, V) of the last call

    def __call__(self, ids: Tensor) -> Tensor:
        logits = self.step(ids)
        newest = ids[:, -1].tolist()
        if self.log_probabilities is None:  # the start token has no probability
            self.paths, self.totals = [() for _ in newest], [0.0 for _ in newest]
        else:
            gains = [float(self.log_probabilities[row, token]) for row, token in enumerate(newest)]
            self.paths = [(*path, token) for path, token in zip(self.paths, newest, strict=True)]
            self.totals = [total + gain for total, gain in zip(self.totals, gains, strict=True)]
        self.log_probabilities = logits.float().log_softmax(-1)
        likeliest = self.log_probabilities.amax(-1).tolist()
        self.rounds.append(
            [
                Prefix(path, total, total + gain)
                for path, total, gain in zip(self.paths, self.totals, likeliest, strict=True)
                if total > float("-inf")
            ]
        )
        return logits

    def select(self, rows: Tensor) -> None:
        self.step.select(rows)
        order = rows.tolist()
        self.paths = [self.paths[row] for row in order]
        self.totals = [self.totals[row] for row in order]
        if self.log_probabilities is not None:
            self.log_probabilities = self.log_probabilities[rows]

    def pruned(self, ended: Sequence[Sequence[int]]) -> list[Pruned]:
        """Prefixes that were neither continued nor finished, likeliest first."""
        whole = {tuple(ids) for ids in ended}
        found = []
        for number, (now, after) in enumerate(zip(self.rounds, self.rounds[1:], strict=False)):
            continued = {prefix.ids[:-1] for prefix in after}
            least = min((prefix.total for prefix in after), default=0.0)
            found += [
                Pruned(each, number + 1, least)
                for each in now
                if each.ids not in continued and each.ids not in whole
            ]
        return sorted(found, key=lambda each: -each.prefix.total)
