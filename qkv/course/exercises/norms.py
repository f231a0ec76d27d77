"""Lesson 4: add and norm."""

from collections.abc import Callable

import numpy as np

from qkv.course.exercise import Exercise

EPSILON = 1e-5
X = np.array([[1.0, 2.0, 3.0, 6.0], [0.5, -1.0, 2.0, 0.5]])
GAIN, BIAS = np.array([1.0, 2.0, 0.5, 1.0]), np.array([0.0, 0.1, -0.1, 0.5])
Sublayer = Callable[[np.ndarray], np.ndarray]


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centered = x - x.mean(-1, keepdims=True)
    normed: np.ndarray = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + EPSILON)
    return normed * gain + bias


def over_words(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centered = x - x.mean(0)
    normed: np.ndarray = centered / np.sqrt((centered**2).mean(0) + EPSILON)
    return normed * gain + bias


def by_variance(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centered = x - x.mean(-1, keepdims=True)
    normed: np.ndarray = centered / ((centered**2).mean(-1, keepdims=True) + EPSILON)
    return normed * gain + bias


def plain_norm(x: np.ndarray) -> np.ndarray:
    return layer_norm(x, np.ones(x.shape[-1]), np.zeros(x.shape[-1]))


def post_norm(x: np.ndarray, sublayer: Sublayer, norm: Sublayer) -> np.ndarray:
    return norm(x + sublayer(x))


def pre_norm(x: np.ndarray, sublayer: Sublayer, norm: Sublayer) -> np.ndarray:
    return x + sublayer(norm(x))


def double(x: np.ndarray) -> np.ndarray:
    """A sublayer that is easy to follow: the words in reverse order, doubled."""
    return 2 * x[::-1]


EXERCISES = {
    "layer_norm": Exercise(
        solution=layer_norm,
        cases=((X, GAIN, BIAS), (10 * X + 3, GAIN, BIAS)),
        mistakes={
            "norm: over words": over_words,
            "norm: by variance": by_variance,
            "norm: no gain": lambda x, gain, bias: plain_norm(x),
            "norm: not centered": lambda x, gain, bias: x / np.sqrt(x.var(-1, keepdims=True)) * gain + bias,
        },
    ),
    "post_norm": Exercise(
        solution=post_norm,
        cases=((X, double, plain_norm),),
        mistakes={
            "post-norm: no residual": lambda x, sublayer, norm: norm(sublayer(x)),
            "post-norm: before": pre_norm,
            "post-norm: norm of the sublayer": lambda x, sublayer, norm: x + norm(sublayer(x)),
            "post-norm: no norm": lambda x, sublayer, norm: x + sublayer(x),
        },
    ),
    "pre_norm": Exercise(
        solution=pre_norm,
        cases=((X, double, plain_norm),),
        mistakes={
            "pre-norm: after": post_norm,
            "pre-norm: residual normed": lambda x, sublayer, norm: norm(x) + sublayer(norm(x)),
        },
    ),
}
