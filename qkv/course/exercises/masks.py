"""Lesson 7: masking and shifting. Masks are True where attention is allowed."""

from collections.abc import Sequence

import numpy as np

from qkv.course.exercise import Exercise
from qkv.course.exercises.attention import softmax


def causal_mask(length: int) -> np.ndarray:
    return np.tril(np.ones((length, length), bool))


def padding_mask(lengths: Sequence[int], longest: int) -> np.ndarray:
    return np.arange(longest) < np.asarray(lengths)[:, None]


def masked_softmax(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return softmax(np.where(mask, scores, -np.inf))


def shift_right(tokens: list[int], start: int) -> list[int]:
    return [start, *tokens[:-1]]


def masked_after_softmax(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.where(mask, softmax(scores), 0)


SCORES = np.array(
    [[0.7, 0.2, 0.1, 0.4], [0.1, 0.6, 0.3, 0.2], [0.1, 0.3, 0.6, 0.5], [0.1, 0.3, 0.3, 0.3]]
)  # deck 002

EXERCISES = {
    "causal_mask": Exercise(
        solution=causal_mask,
        cases=((4,), (1,)),
        mistakes={
            "causal: future allowed": lambda length: causal_mask(length).T,
            "causal: itself hidden": lambda length: np.tril(np.ones((length, length), bool), -1),
            "causal: inverted": lambda length: ~causal_mask(length),
        },
    ),
    "padding_mask": Exercise(
        solution=padding_mask,
        cases=(([2, 4, 1], 4),),
        mistakes={
            "padding: inverted": lambda lengths, longest: ~padding_mask(lengths, longest),
            "padding: one too many": lambda lengths, longest: (
                np.arange(longest) <= np.asarray(lengths)[:, None]
            ),
        },
    ),
    "masked_softmax": Exercise(
        solution=masked_softmax,
        cases=((SCORES, causal_mask(4)), (SCORES - 5, causal_mask(4))),
        mistakes={
            "masked softmax: zero before": lambda scores, mask: softmax(np.where(mask, scores, 0)),
            "masked softmax: after": masked_after_softmax,
            "masked softmax: no mask": lambda scores, mask: softmax(scores),
        },
    ),
    "shift_right": Exercise(
        solution=shift_right,
        cases=(([5, 6, 7, 2], 1), ([9, 2], 1)),
        mistakes={
            "shift: too long": lambda tokens, start: [start, *tokens],
            "shift: left": lambda tokens, start: [*tokens[1:], start],
            "shift: unchanged": lambda tokens, start: tokens,
        },
    ),
}
