"""Lesson 2: several heads."""

import numpy as np

from qkv.course.exercise import Exercise
from qkv.course.exercises.attention import attend, softmax

random = np.random.default_rng(2)
X = random.normal(size=(3, 8)).round(1)  # three words, width 8
W_Q, W_K, W_V, W_O = (random.normal(size=(8, 8)).round(1) for _ in range(4))


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    length, width = x.shape
    return x.reshape(length, heads, width // heads).transpose(1, 0, 2)  # (H, T, K)


def merge_heads(x: np.ndarray) -> np.ndarray:
    heads, length, width = x.shape
    return x.transpose(1, 0, 2).reshape(length, heads * width)


def multi_head(
    x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray, w_o: np.ndarray, heads: int
) -> np.ndarray:
    query, key, value = (split_heads(x @ each, heads) for each in (w_q, w_k, w_v))
    merged: np.ndarray = concatenated(query, key, value) @ w_o
    return merged


def concatenated(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    return merge_heads(np.stack([attend(*each) for each in zip(query, key, value, strict=True)]))


def without_output(
    x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray, w_o: np.ndarray, heads: int
) -> np.ndarray:
    return concatenated(*(split_heads(x @ each, heads) for each in (w_q, w_k, w_v)))


def one_head(
    x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray, w_o: np.ndarray, heads: int
) -> np.ndarray:
    result: np.ndarray = attend(x @ w_q, x @ w_k, x @ w_v) @ w_o
    return result


def scaled_by_all(
    x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray, w_o: np.ndarray, heads: int
) -> np.ndarray:
    query, key, value = (split_heads(x @ each, heads) for each in (w_q, w_k, w_v))
    weights = softmax(query @ key.transpose(0, 2, 1) / x.shape[-1] ** 0.5)
    return merge_heads(weights @ value) @ w_o


MATRICES = (X, W_Q, W_K, W_V, W_O)
EXERCISES = {
    "split_heads": Exercise(
        solution=split_heads,
        cases=((X, 2), (X, 4)),
        mistakes={
            "split: rows mixed": lambda x, heads: x.reshape(heads, len(x), -1),
            "split: words first": lambda x, heads: x.reshape(len(x), heads, -1),
        },
    ),
    "merge_heads": Exercise(
        solution=merge_heads,
        cases=((split_heads(X, 2),), (split_heads(X, 4),)),
        mistakes={"merge: rows mixed": lambda x: x.reshape(x.shape[1], -1)},
    ),
    "multi_head": Exercise(
        solution=multi_head,
        cases=((*MATRICES, 2), (*MATRICES, 4)),
        mistakes={
            "multi-head: no output matrix": without_output,
            "multi-head: one head": one_head,
            "multi-head: scaled by all": scaled_by_all,
        },
    ),
}
