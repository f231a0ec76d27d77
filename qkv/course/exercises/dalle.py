"""Lesson 13: DALL-E."""

from collections.abc import Sequence

import numpy as np

from qkv.course.exercise import Exercise


def nearest_codes(vectors: np.ndarray, codebook: np.ndarray) -> np.ndarray:
    distances = ((vectors[:, None] - codebook[None]) ** 2).sum(-1)
    codes: np.ndarray = distances.argmin(-1)
    return codes


def joint_sequence(caption: Sequence[int], codes: Sequence[int], words: int) -> list[int]:
    """Image codes have numbers after those of the words."""
    return [*caption, *(words + code for code in codes)]


def allowed(position: int, caption: int, words: int, codes: int) -> np.ndarray:
    """Which tokens may stand at a position: words in the caption, codes after it."""
    tokens = np.arange(words + codes)
    return tokens < words if position < caption else tokens >= words


VECTORS = np.array([[0.9, 0.1], [-0.2, 0.8], [0.4, 0.45], [-3.2, -3.0]])
CODEBOOK = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [0.4, 0.4]])
EXERCISES = {
    "nearest_codes": Exercise(
        solution=nearest_codes,
        cases=((VECTORS, CODEBOOK),),
        mistakes={
            "nearest: farthest": lambda vectors, codebook: (
                ((vectors[:, None] - codebook[None]) ** 2).sum(-1).argmax(-1)
            ),
            "nearest: product": lambda vectors, codebook: (vectors @ codebook.T).argmax(-1),
            "nearest: vectors": lambda vectors, codebook: codebook[nearest_codes(vectors, codebook)],
        },
    ),
    "joint_sequence": Exercise(
        solution=joint_sequence,
        cases=(([4, 7], [0, 3, 1, 1], 10),),
        mistakes={
            "joint sequence: no offset": lambda caption, codes, words: [*caption, *codes],
            "joint sequence: image first": lambda caption, codes, words: [
                *(words + code for code in codes),
                *caption,
            ],
        },
    ),
    "allowed": Exercise(
        solution=allowed,
        cases=((0, 2, 4, 3), (2, 2, 4, 3), (5, 2, 4, 3)),
        mistakes={
            "allowed: everything": lambda position, caption, words, codes: np.ones(words + codes, bool),
            "allowed: one too late": lambda position, caption, words, codes: allowed(
                position - 1, caption, words, codes
            ),
            "allowed: inverted": lambda position, caption, words, codes: (
                ~allowed(position, caption, words, codes)
            ),
        },
    ),
}
