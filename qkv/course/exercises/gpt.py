"""Lesson 10: GPT."""

from collections.abc import Sequence

import numpy as np

from qkv.course.exercise import Exercise


def perplexity(log_probabilities: Sequence[float]) -> float:
    return float(np.exp(-np.mean(log_probabilities)))


def joint_loss(task: float, language_model: float, weight: float) -> float:
    return task + weight * language_model


def top_k(probabilities: np.ndarray, k: int) -> np.ndarray:
    least = np.sort(probabilities)[-k]
    kept = np.where(probabilities >= least, probabilities, 0)
    shares: np.ndarray = kept / kept.sum()
    return shares


def zero_shot(scores: Sequence[Sequence[float]]) -> int:
    """The answer with the largest log-probability per token."""
    return int(np.argmax([np.mean(each) for each in scores]))


def without_sharing(probabilities: np.ndarray, k: int) -> np.ndarray:
    return np.where(probabilities >= np.sort(probabilities)[-k], probabilities, 0)


ANSWERS = ([-1.0, -1.2, -0.2, -0.3], [-0.9, -1.1])
EXERCISES = {
    "perplexity": Exercise(
        solution=perplexity,
        cases=(([-1.0, -2.0, -3.0],), ([-0.1, -0.1],)),
        mistakes={
            "perplexity: loss": lambda logs: -float(np.mean(logs)),
            "perplexity: no minus": lambda logs: float(np.exp(np.mean(logs))),
            "perplexity: sum": lambda logs: float(np.exp(-np.sum(logs))),
            "perplexity: mean outside": lambda logs: float(np.mean(np.exp(-np.array(logs)))),
        },
    ),
    "joint_loss": Exercise(
        solution=joint_loss,
        cases=((0.7, 3.0, 0.5), (0.2, 4.0, 0.0)),
        mistakes={
            "joint: weight on the task": lambda task, language_model, weight: weight * task + language_model,
            "joint: mean": lambda task, language_model, weight: (1 - weight) * task + weight * language_model,
            "joint: no weight": lambda task, language_model, weight: task + language_model,
        },
    ),
    "top_k": Exercise(
        solution=top_k,
        cases=((np.array([0.1, 0.4, 0.3, 0.15, 0.05]), 2), (np.array([0.5, 0.2, 0.3]), 3)),
        mistakes={
            "top-k: not shared": without_sharing,
            "top-k: least likely": lambda probabilities, k: (
                np.where(probabilities <= np.sort(probabilities)[k - 1], probabilities, 0)
                / np.sort(probabilities)[:k].sum()
            ),
        },
    ),
    "zero_shot": Exercise(
        solution=zero_shot,
        cases=((ANSWERS,), (([-3.0], [-0.5, -0.6, -0.7, -0.8]),)),
        mistakes={
            "zero-shot: sum": lambda scores: int(np.argmax([np.sum(each) for each in scores])),
            "zero-shot: worst": lambda scores: int(np.argmin([np.mean(each) for each in scores])),
        },
    ),
}
