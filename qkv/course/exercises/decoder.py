"""Lesson 6: the decoder."""

import numpy as np

from qkv.course.exercise import Exercise
from qkv.course.exercises.attention import attend, softmax

random = np.random.default_rng(6)
TARGET = random.normal(size=(2, 4)).round(1)
MEMORY = random.normal(size=(3, 4)).round(1)
W_Q, W_K, W_V = (random.normal(size=(4, 4)).round(1) for _ in range(3))
EMBEDDINGS = random.normal(size=(5, 4)).round(1)  # of five tokens


def cross_attention(
    target: np.ndarray, memory: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray
) -> np.ndarray:
    return attend(target @ w_q, memory @ w_k, memory @ w_v)


def log_probabilities(hidden: np.ndarray, embeddings: np.ndarray) -> np.ndarray:
    logits = hidden @ embeddings.T
    largest = logits.max(-1, keepdims=True)
    result: np.ndarray = logits - largest - np.log(np.exp(logits - largest).sum(-1, keepdims=True))
    return result


def best_tokens(log_probabilities: np.ndarray) -> np.ndarray:
    tokens: np.ndarray = log_probabilities.argmax(-1)
    return tokens


LOGS = log_probabilities(TARGET, EMBEDDINGS)
EXERCISES = {
    "cross_attention": Exercise(
        solution=cross_attention,
        cases=((TARGET, MEMORY, W_Q, W_K, W_V),),
        mistakes={
            "cross: exchanged": lambda target, memory, w_q, w_k, w_v: attend(
                memory @ w_q, target @ w_k, target @ w_v
            ),
            "cross: self": lambda target, memory, w_q, w_k, w_v: attend(
                target @ w_q, target @ w_k, target @ w_v
            ),
            "cross: no projections": lambda target, memory, w_q, w_k, w_v: attend(target, memory, memory),
        },
    ),
    "log_probabilities": Exercise(
        solution=log_probabilities,
        cases=((TARGET, EMBEDDINGS), (300 * TARGET, EMBEDDINGS)),
        mistakes={
            "logs: logits": lambda hidden, embeddings: hidden @ embeddings.T,
            "logs: probabilities": lambda hidden, embeddings: softmax(hidden @ embeddings.T),
        },
    ),
    "best_tokens": Exercise(
        solution=best_tokens,
        cases=((LOGS,), (np.array([[-3.0, -0.1, -2.0]]),)),
        mistakes={
            "best: its logarithm": lambda logs: logs.max(-1),
            "best: least likely": lambda logs: logs.argmin(-1),
            "best: over positions": lambda logs: logs.argmax(0),
        },
    ),
}
