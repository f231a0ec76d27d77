"""Lesson 5: the encoder."""

from collections.abc import Callable, Sequence

import numpy as np

from qkv.course.exercise import Exercise
from qkv.course.exercises.norms import plain_norm

random = np.random.default_rng(5)
X = random.normal(size=(3, 4)).round(1)
W_1, B_1 = random.normal(size=(4, 6)).round(1), random.normal(size=6).round(1)
W_2, B_2 = random.normal(size=(6, 4)).round(1), random.normal(size=4).round(1)
Layer = Callable[[np.ndarray], np.ndarray]


def feed_forward(
    x: np.ndarray, w_1: np.ndarray, b_1: np.ndarray, w_2: np.ndarray, b_2: np.ndarray
) -> np.ndarray:
    result: np.ndarray = np.maximum(x @ w_1 + b_1, 0) @ w_2 + b_2
    return result


def encoder_block(x: np.ndarray, attention: Layer, feed_forward: Layer, norm: Layer) -> np.ndarray:
    x = norm(x + attention(x))
    return norm(x + feed_forward(x))


def old_residual(x: np.ndarray, attention: Layer, feed_forward: Layer, norm: Layer) -> np.ndarray:
    return norm(x + feed_forward(norm(x + attention(x))))


def encode(x: np.ndarray, blocks: Sequence[Layer]) -> np.ndarray:
    for block in blocks:
        x = block(x)
    return x


def mean_of_words(x: np.ndarray) -> np.ndarray:
    """An attention with equal weights."""
    return np.repeat(x.mean(0, keepdims=True), len(x), 0)


def squares(x: np.ndarray) -> np.ndarray:
    return x**2


EXERCISES = {
    "feed_forward": Exercise(
        solution=feed_forward,
        cases=((X, W_1, B_1, W_2, B_2),),
        mistakes={
            "ffn: no activation": lambda x, w_1, b_1, w_2, b_2: (x @ w_1 + b_1) @ w_2 + b_2,
            "ffn: activation at the end": lambda x, w_1, b_1, w_2, b_2: np.maximum(
                (x @ w_1 + b_1) @ w_2 + b_2, 0
            ),
            "ffn: no bias": lambda x, w_1, b_1, w_2, b_2: np.maximum(x @ w_1, 0) @ w_2,
        },
    ),
    "encoder_block": Exercise(
        solution=encoder_block,
        cases=((X, mean_of_words, squares, plain_norm),),
        mistakes={
            "block: old residual": old_residual,
            "block: one norm": lambda x, attention, ffn, norm: norm(x + attention(x) + ffn(x + attention(x))),
            "block: feed-forward first": lambda x, attention, ffn, norm: encoder_block(
                x, ffn, attention, norm
            ),
            "block: no residual": lambda x, attention, ffn, norm: norm(ffn(norm(attention(x)))),
        },
    ),
    "encode": Exercise(
        solution=encode,
        cases=((X, [squares, mean_of_words, lambda x: x + 1]), (X, [])),
        mistakes={
            "encode: side by side": lambda x, blocks: blocks[-1](x) if blocks else x,
            "encode: backwards": lambda x, blocks: encode(x, list(reversed(blocks))),
            "encode: added": lambda x, blocks: sum((block(x) for block in blocks), x),
        },
    ),
}
