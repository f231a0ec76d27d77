"""Lesson 3: positions."""

import numpy as np

from qkv.course.exercise import Exercise


def sinusoid(length: int, width: int) -> np.ndarray:
    """Sine and cosine in turn."""
    table = np.empty((length, width))
    for position in range(length):
        for column in range(width):
            angle = position / 10_000 ** (2 * (column // 2) / width)
            table[position, column] = np.sin(angle) if column % 2 == 0 else np.cos(angle)
    return table


def sines_first(length: int, width: int) -> np.ndarray:
    """The layout of July 2020: all sines, then all cosines."""
    interleaved = sinusoid(length, width)
    return np.concatenate([interleaved[:, 0::2], interleaved[:, 1::2]], -1)


def one_exponent_each(length: int, width: int) -> np.ndarray:
    """The mistake of deck 001: each column has an exponent of its own."""
    angles = np.arange(length)[:, None] / 10_000 ** (2 * np.arange(width) / width)
    return np.where(np.arange(width) % 2 == 0, np.sin(angles), np.cos(angles))


def from_one(length: int, width: int) -> np.ndarray:
    return sinusoid(length + 1, width)[1:]


EXERCISES = {
    "sinusoid": Exercise(
        solution=sinusoid,
        cases=((4, 4), (6, 8)),
        mistakes={
            "sinusoid: sines first": sines_first,
            "sinusoid: one exponent each": one_exponent_each,
            "sinusoid: from one": from_one,
            "sinusoid: cosine first": lambda length, width: (
                sinusoid(length, width).reshape(length, -1, 2)[:, :, ::-1].reshape(length, width)
            ),
        },
    ),
    "sines_first": Exercise(
        solution=sines_first,
        cases=((4, 4), (6, 8)),
        mistakes={"sines first: interleaved": sinusoid},
    ),
}
