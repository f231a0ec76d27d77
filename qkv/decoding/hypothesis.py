"""The result of a search."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Hypothesis:
    """One output of a search."""

    ids: list[int]  # without the start and without the end
    score: float  # log-probability, including the end, divided by the length penalty
    finished: bool  # False if truncated at the length limit
    log_probabilities: list[float] = field(
        default_factory=list
    )  # of each id, and of the end if it was reached
    attention: Any = field(
        default=None, compare=False
    )  # (steps, S) on the source tokens, if the search recorded it
