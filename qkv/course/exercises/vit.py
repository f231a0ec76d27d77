"""Lesson 12: the Vision Transformer."""

import numpy as np

from qkv.course.exercise import Exercise

IMAGE = np.arange(36.0).reshape(6, 6)


def patches(image: np.ndarray, size: int) -> np.ndarray:
    """Row by row, each as a vector."""
    height, width = image.shape
    grid = image.reshape(height // size, size, width // size, size).transpose(0, 2, 1, 3)
    return grid.reshape(-1, size * size)


def embed_patches(rows: np.ndarray, matrix: np.ndarray, cls: np.ndarray, positions: np.ndarray) -> np.ndarray:
    return np.concatenate([cls[None], rows @ matrix]) + positions


def class_probabilities(output: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Only the class token's row is read."""
    logits = output[0] @ head
    exponentials = np.exp(logits - logits.max())
    shares: np.ndarray = exponentials / exponentials.sum()
    return shares


random = np.random.default_rng(12)
MATRIX, CLS, POSITIONS, HEAD = (random.normal(size=size).round(1) for size in ((9, 4), (4,), (5, 4), (4, 3)))
OUTPUT = random.normal(size=(5, 4)).round(1)
EXERCISES = {
    "patches": Exercise(
        solution=patches,
        cases=((IMAGE, 2), (IMAGE, 3)),
        mistakes={
            "patches: strips": lambda image, size: image.reshape(-1, size * size),
            "patches: columns first": lambda image, size: (
                patches(image.T, size).reshape(-1, size, size).transpose(0, 2, 1).reshape(-1, size * size)
            ),
        },
    ),
    "embed_patches": Exercise(
        solution=embed_patches,
        cases=((patches(IMAGE, 3) / 36, MATRIX, CLS, POSITIONS),),
        mistakes={
            "embed: no positions": lambda rows, matrix, cls, positions: np.concatenate(
                [cls[None], rows @ matrix]
            ),
            "embed: class last": lambda rows, matrix, cls, positions: (
                np.concatenate([rows @ matrix, cls[None]]) + positions
            ),
        },
    ),
    "class_probabilities": Exercise(
        solution=class_probabilities,
        cases=((OUTPUT, HEAD),),
        mistakes={
            "class: mean": lambda output, head: class_probabilities(output.mean(0, keepdims=True), head),
            "class: logits": lambda output, head: output[0] @ head,
        },
    ),
}
