"""Lesson 9: translation by a decoder alone (T-D)."""

from collections.abc import Sequence

import numpy as np

from qkv.course.exercise import Exercise


def join(source: Sequence[int], target: Sequence[int], start: int) -> list[int]:
    """What the model reads: the last token of the target is only predicted."""
    return [*source, start, *target[:-1]]


def loss_mask(source: Sequence[int], target: Sequence[int]) -> list[bool]:
    """Positions whose predictions count: from the start token on."""
    return [False] * len(source) + [True] * len(target)


def positions(source: Sequence[int], target: Sequence[int]) -> list[int]:
    """Each side counts from 0."""
    return [*range(len(source)), *range(len(target))]


PAIR = ([7, 8, 9], [4, 5, 6, 2])
EXERCISES = {
    "join": Exercise(
        solution=join,
        cases=((*PAIR, 1), ([3], [2], 1)),
        mistakes={
            "join: whole target": lambda source, target, start: [*source, start, *target],
            "join: no start": lambda source, target, start: [*source, *target[:-1]],
            "join: start first": lambda source, target, start: [start, *source, *target[:-1]],
        },
    ),
    "loss_mask": Exercise(
        solution=loss_mask,
        cases=(PAIR, ([3], [2])),
        mistakes={
            "loss mask: everything": lambda source, target: [True] * (len(source) + len(target)),
            "loss mask: inverted": lambda source, target: [not each for each in loss_mask(source, target)],
            "loss mask: one too late": lambda source, target: (
                [False] * (len(source) + 1) + [True] * (len(target) - 1)
            ),
        },
    ),
    "stream_positions": Exercise(
        solution=positions,
        cases=(PAIR, ([3], [2])),
        mistakes={
            "stream positions: one count": lambda source, target: list(np.arange(len(source) + len(target))),
        },
    ),
}
