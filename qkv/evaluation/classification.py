"""Scores of classifiers (accuracy, F1) and of predicted numbers (Pearson, Spearman)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def accuracy(predicted: Sequence[str], expected: Sequence[str]) -> float:
    """The share of correct predictions."""
    return float(np.mean([a == b for a, b in zip(predicted, expected, strict=True)]))


def macro_f1(predicted: Sequence[str], expected: Sequence[str]) -> float:
    """The mean over the classes of 2PR / (P + R): a rare class counts as much as a common one."""
    scores = []
    for label in sorted({*predicted, *expected}):
        right = sum(a == b == label for a, b in zip(predicted, expected, strict=True))
        scores.append(2 * right / (predicted.count(label) + expected.count(label)))
    return float(np.mean(scores))


def pearson(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's correlation; NaN if one of them is constant."""
    x, y = (np.asarray(each, dtype=np.float64) for each in (first, second))
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread else float("nan")


def round_or_none(correlation: float) -> float | None:
    """A number for JSON, in which NaN becomes null."""
    return None if np.isnan(correlation) else round(correlation, 5)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's correlation: Pearson's correlation of the ranks."""
    return pearson(ranks(first).tolist(), ranks(second).tolist())


def ranks(values: Sequence[float]) -> Numbers:
    """Ranks from 1; equal values share their mean rank."""
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Numbers = (last - (counts - 1) / 2)[place]
    return shared


def class_results(predicted: Sequence[str], expected: Sequence[str], *, macro: bool = True) -> dict[str, str]:
    """Scores of predicted classes for a report. Answers to different questions are no classes and have no macro F1."""
    found = {"accuracy": f"{100 * accuracy(predicted, expected):.2f} % of {len(expected):,} examples"}
    return found | ({"macro F1": f"{100 * macro_f1(predicted, expected):.2f} %"} if macro else {})


def number_results(predicted: Sequence[float], expected: Sequence[float]) -> dict[str, str]:
    """Scores of predicted numbers for a report."""
    return {
        "Pearson correlation": f"{pearson(predicted, expected):.4f} on {len(expected):,} examples",
        "Spearman correlation": f"{spearman(predicted, expected):.4f}",
    }
