"""Lesson 11: BERT."""

from collections.abc import Sequence

import numpy as np

from qkv.course.exercise import Exercise


def mask_tokens(tokens: Sequence[int], draws: Sequence[float], others: Sequence[int], mask: int) -> list[int]:
    """Below 0.8: the mask. Below 0.9: another token. Otherwise unchanged. None means that the token was not chosen."""
    result = []
    for token, draw, other in zip(tokens, draws, others, strict=True):
        if draw is None or draw >= 0.9:
            result.append(token)
        else:
            result.append(mask if draw < 0.8 else other)
    return result


def always_masked(
    tokens: Sequence[int], draws: Sequence[float], others: Sequence[int], mask: int
) -> list[int]:
    return [token if draw is None else mask for token, draw in zip(tokens, draws, strict=True)]


def exchanged(tokens: Sequence[int], draws: Sequence[float], others: Sequence[int], mask: int) -> list[int]:
    """The last two cases in the other order."""
    swapped = [draw if draw is None or draw < 0.8 else 1.7 - draw for draw in draws]
    return mask_tokens(tokens, swapped, others, mask)


def pair_input(
    first: Sequence[int], second: Sequence[int], cls: int, sep: int
) -> tuple[list[int], list[int]]:
    tokens = [cls, *first, sep, *second, sep]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return tokens, segments


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


DRAWS = (None, 0.3, None, 0.85, 0.95, 0.1)
EXERCISES = {
    "mask_tokens": Exercise(
        solution=mask_tokens,
        cases=(((11, 12, 13, 14, 15, 16), DRAWS, (21, 22, 23, 24, 25, 26), 4),),
        mistakes={
            "mask tokens: always": always_masked,
            "mask tokens: exchanged": exchanged,
            "mask tokens: all tokens": lambda tokens, draws, others, mask: [mask] * len(tokens),
        },
    ),
    "pair_input": Exercise(
        solution=pair_input,
        cases=(([11, 12], [13, 14, 15], 2, 3),),
        mistakes={
            "pair: no last separator": lambda first, second, cls, sep: (
                [cls, *first, sep, *second],
                [0] * (len(first) + 2) + [1] * len(second),
            ),
            "pair: separator in the second": lambda first, second, cls, sep: (
                pair_input(first, second, cls, sep)[0],
                [0] * (len(first) + 1) + [1] * (len(second) + 2),
            ),
        },
    ),
    "cosine": Exercise(
        solution=cosine,
        cases=(
            (np.array([1.0, 2.0, 2.0]), np.array([2.0, 1.0, 0.0])),
            (np.array([3.0, 0.0]), np.array([5.0, 0.0])),
        ),
        mistakes={
            "cosine: dot product": lambda one, other: float(one @ other),
            "cosine: distance": lambda one, other: float(np.sqrt(((one - other) ** 2).sum())),
        },
    ),
}
