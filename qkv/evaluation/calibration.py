"""From what a model thinks of its own words to how likely a translation is good, and how far that can be believed."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

FEWEST = 5  # good ones and others that are needed to tell them apart
PULL = 1.0  # towards weights of 0, in standard deviations: little data decide little
FOLDS = 5
BINS = 10


@dataclass(frozen=True, kw_only=True)
class Logistic:
    bias: float
    weights: tuple[float, ...]

    def __call__(self, features: Tensor) -> Tensor:
        """(N, F) -> (N)"""
        return (features @ torch.tensor(self.weights, dtype=features.dtype) + self.bias).sigmoid()


def fit(features: Tensor, good: Tensor) -> Logistic:
    """Logistic regression by Newton's method; features (N, F) and good (N) in float64."""
    count, hits = len(good), float(good.sum())
    if min(hits, count - hits) < FEWEST:  # nearly all are alike: how many are good is all that can be said
        bias = torch.tensor((hits + 1) / (count + 2), dtype=torch.float64).logit()
        return Logistic(bias=float(bias), weights=(0.0,) * features.shape[1])
    mean, spread = features.mean(0), features.std(0).clamp(min=1e-9)
    x = torch.cat([(features - mean) / spread, torch.ones(count, 1, dtype=features.dtype)], 1)
    pull = torch.eye(x.shape[1], dtype=x.dtype) * PULL
    pull[-1, -1] = 0.0
    w = torch.zeros(x.shape[1], dtype=x.dtype)
    for _ in range(30):
        p = (x @ w).sigmoid()
        gradient = x.T @ (good - p) - pull @ w
        hessian = (x * (p * (1 - p))[:, None]).T @ x + pull
        step = torch.linalg.solve(hessian + 1e-9 * torch.eye(len(w), dtype=x.dtype), gradient)
        w = w + step
        if float(step.abs().max()) < 1e-9:
            break
    weights = w[:-1] / spread
    return Logistic(bias=float(w[-1] - (weights * mean).sum()), weights=tuple(weights.tolist()))


def held_out(features: Tensor, good: Tensor) -> Tensor:
    """The probability of each, by a fit on others than those it is in the fold of. (N)"""
    fold = torch.arange(len(good)) % FOLDS
    found = torch.zeros_like(good)
    for number in range(FOLDS):
        inside = fold == number
        found[inside] = fit(features[~inside], good[~inside])(features[inside])
    return found


def calibration_error(probabilities: Tensor, good: Tensor) -> float:
    """How far, in the mean, what was said is from what came true, in bins of equally many (ECE)."""
    order = probabilities.argsort()
    bins = [part for part in order.tensor_split(BINS) if len(part)]
    gaps = [len(part) * abs(float(probabilities[part].mean() - good[part].mean())) for part in bins]
    return sum(gaps) / len(good)


def told_apart(probabilities: Tensor, good: Tensor) -> float | None:
    """How often a good one has the greater probability than another one (area under the curve); None without both."""
    yes, no = probabilities[good > 0.5], probabilities[good <= 0.5]
    if not len(yes) or not len(no):
        return None
    difference = yes[:, None] - no[None, :]
    return float((difference > 0).double().mean() + 0.5 * (difference == 0).double().mean())


def tensors(features: Sequence[Sequence[float]], good: Sequence[bool]) -> tuple[Tensor, Tensor]:
    return torch.tensor(features, dtype=torch.float64), torch.tensor(good, dtype=torch.float64)
