"""Lesson 1: attention by hand."""

import numpy as np

from qkv.course.exercise import Exercise

Q = np.array([[1.3, 0.8], [0.7, 3.5], [1.9, 0.1]])  # "I like cats", deck 001
K = np.array([[0.6, 2.4], [0.8, 1.7], [2.5, 0.3]])
V = np.array([[0.4, 1.0], [1.2, 2.8], [1.7, 0.2]])
DIE_KATZE = np.array([[-1.0, -2.5], [4.0, 3.0]])  # deck 003
THE_CAT_DANCED = np.array([[-2.0, -4.0], [-2.5, -0.5], [4.5, 2.5]])


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    weights: np.ndarray = exponentials / exponentials.sum(-1, keepdims=True)
    return weights


def scale(scores: np.ndarray, width: int) -> np.ndarray:
    return scores / width**0.5


def attend(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    weights = softmax(scale(query @ key.T, key.shape[-1]))
    return weights @ value


def over_columns(scores: np.ndarray) -> np.ndarray:
    return softmax(scores.T).T


def over_everything(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max())
    shares: np.ndarray = exponentials / exponentials.sum()
    return shares


EXERCISES = {
    "softmax": Exercise(
        solution=softmax,
        cases=((np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]]),), (np.array([[1000.0, 999.0]]),)),
        mistakes={
            "softmax: columns": over_columns,
            "softmax: everything": over_everything,
            "softmax: no exponential": lambda scores: scores / scores.sum(-1, keepdims=True),
            "softmax: not normalized": lambda scores: np.exp(scores - scores.max(-1, keepdims=True)),
        },
    ),
    "scale": Exercise(
        solution=scale,
        cases=((Q @ K.T, 2), (np.ones((2, 3)), 64)),
        mistakes={
            "scale: by the width": lambda scores, width: scores / width,
            "scale: multiplied": lambda scores, width: scores * width**0.5,
            "scale: unchanged": lambda scores, width: scores,
        },
    ),
    "attend": Exercise(
        solution=attend,
        cases=((Q, K, V), (DIE_KATZE, THE_CAT_DANCED, THE_CAT_DANCED)),
        mistakes={
            "attend: not scaled": lambda query, key, value: softmax(query @ key.T) @ value,
            "attend: by the width": lambda query, key, value: softmax(query @ key.T / key.shape[-1]) @ value,
            "attend: no softmax": lambda query, key, value: scale(query @ key.T, key.shape[-1]) @ value,
            "attend: weights only": lambda query, key, value: softmax(scale(query @ key.T, key.shape[-1])),
            "attend: keys as values": lambda query, key, value: attend(query, key, key),
        },
    ),
}
