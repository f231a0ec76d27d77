"""Lesson 14: the recurrent networks that came before."""

import numpy as np

from qkv.course.exercise import Exercise

random = np.random.default_rng(14)
X = random.normal(size=(4, 3)).round(1)
W, U, B = (random.normal(size=size).round(1) / 2 for size in ((3, 2), (2, 2), (2,)))


def rnn(x: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    state = np.zeros(len(b))
    states = []
    for row in x:
        state = np.tanh(row @ w + state @ u + b)
        states.append(state)
    return np.stack(states)


def path_length(one: int, other: int, kind: str) -> int:
    return abs(one - other) if kind == "recurrent" else min(1, abs(one - other))


def sequential_steps(length: int, layers: int, kind: str) -> int:
    """Steps that must wait for each other."""
    return length + layers - 1 if kind == "recurrent" else layers


EXERCISES = {
    "rnn": Exercise(
        solution=rnn,
        cases=((X, W, U, B), (X[:1], W, U, B)),
        mistakes={
            "rnn: no state": lambda x, w, u, b: np.tanh(x @ w + b),
            "rnn: last state": lambda x, w, u, b: rnn(x, w, u, b)[-1],
            "rnn: backwards": lambda x, w, u, b: rnn(x[::-1], w, u, b)[::-1],
        },
    ),
    "path_length": Exercise(
        solution=path_length,
        cases=((0, 9, "recurrent"), (7, 2, "recurrent"), (0, 9, "attention"), (3, 3, "attention")),
        mistakes={
            "path: always the distance": lambda one, other, kind: abs(one - other),
            "path: sign": lambda one, other, kind: (
                other - one if kind == "recurrent" else min(1, abs(one - other))
            ),
        },
    ),
    "sequential_steps": Exercise(
        solution=sequential_steps,
        cases=((20, 1, "recurrent"), (20, 4, "recurrent"), (20, 6, "attention"), (1000, 6, "attention")),
        mistakes={
            "steps: product": lambda length, layers, kind: length * layers if kind == "recurrent" else layers,
            "steps: attention waits": lambda length, layers, kind: length + layers - 1,
        },
    ),
}
