"""Calibrated confidence: the probability that a translation is good, and how reliable it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

FEWEST = 5  # good and bad hypotheses needed for a fit
PULL = 1.0  # regularization towards weights of 0, so that little data have little effect
FOLDS = 5
BINS = 10
BOUND = 50.0  # of a logit: beyond, probabilities are 0 or 1 in float64


@dataclass(frozen=True, kw_only=True)
class Logistic:
    bias: float
    weights: tuple[float, ...]
    least: float = 0.0
    most: float = 1.0
    """No probability is below `least` or above `most`."""

    def __call__(self, features: Tensor) -> Tensor:
        """(N, F) -> (N)"""
        return self.logits(features).sigmoid().clamp(self.least, self.most)

    def logits(self, features: Tensor) -> Tensor:
        return features @ torch.tensor(self.weights, dtype=features.dtype) + self.bias


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Hypotheses of one or several sentences: their features (N, F), whether each is good (N), both in float64,
    the number of its sentence (N), and whether it is the one that a user would get (N)."""

    features: Tensor
    good: Tensor
    sentence: Tensor
    best: Tensor

    def where(self, chosen: Tensor) -> "Examples":
        return Examples(
            features=self.features[chosen],
            good=self.good[chosen],
            sentence=self.sentence[chosen],
            best=self.best[chosen],
        )


def calibrate(examples: Examples, rising: Sequence[int]) -> Logistic:
    """The probability that the best hypothesis of a sentence is good.

    What counts, and how much, comes from hypotheses of all qualities, because the best ones alone may be nearly all
    good, or nearly all bad. Then it is scaled (Platt) to fit the best ones, because those are what users get: a
    sampled hypothesis is good less often than a best one that is as likely. With n sentences nothing is more certain
    than (n + 1) / (n + 2), by the rule of succession.
    """
    best = examples.where(examples.best)
    learned = platt_scale(fit_rising(examples.features, examples.good, rising), best)
    count = len(best.good)
    return replace(learned, least=1 / (count + 2), most=(count + 1) / (count + 2))


def platt_scale(learned: Logistic, best: Examples) -> Logistic:
    logits = learned.logits(best.features)
    platt = fit_rising(logits[:, None], best.good, rising=(0,))
    (scale,) = platt.weights
    if scale == 0:  # too few good ones, or too few bad ones, to fit a scale: only the mean is right
        return replace(learned, bias=learned.bias + bias_for(logits, share_of(best.good)))
    return Logistic(
        bias=scale * learned.bias + platt.bias, weights=tuple(scale * weight for weight in learned.weights)
    )


def held_out_best(examples: Examples, rising: Sequence[int]) -> Tensor:
    """For every best hypothesis its probability by a fit on the other sentences, a fifth left out at a time. (N best)"""
    fold = examples.sentence % FOLDS
    found = torch.zeros_like(examples.good)
    for number in range(FOLDS):
        inside = fold == number
        if bool((examples.best & inside).any()):
            found[inside] = calibrate(examples.where(~inside), rising)(examples.features[inside])
    return found[examples.best]


def brier_score(probabilities: Tensor, good: Tensor) -> float:
    """Mean squared difference between probabilities and outcomes: 0 is perfect."""
    return float((probabilities - good).square().mean())


def fit_rising(features: Tensor, good: Tensor, rising: Sequence[int]) -> Logistic:
    """The same as `fit`, but the weights of the features `rising` are never negative.

    Features that say nearly the same can get weights of opposite signs; more of a good sign would then lower the
    probability.
    """
    kept = list(range(features.shape[1]))
    while kept:
        learned = fit(features[:, kept], good)
        weights = dict(zip(kept, learned.weights, strict=True))
        wrong = [feature for feature in rising if weights.get(feature, 0.0) < 0]
        if not wrong:
            return Logistic(
                bias=learned.bias,
                weights=tuple(weights.get(feature, 0.0) for feature in range(features.shape[1])),
            )
        kept.remove(min(wrong, key=lambda feature: weights[feature]))
    return constant(good, features.shape[1])


def bias_for(logits: Tensor, share: float) -> float:
    """What to add to the logits so that the mean probability is `share`, found by bisection."""
    low, high = -BOUND - float(logits.max()), BOUND - float(logits.min())
    for _ in range(80):
        middle = (low + high) / 2
        if float((logits + middle).sigmoid().mean()) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def share_of(good: Tensor) -> float:
    """By Laplace's rule of succession: never 0 and never 1."""
    return (float(good.sum()) + 1) / (len(good) + 2)


def constant(good: Tensor, features: int) -> Logistic:
    return Logistic(bias=math.log(share_of(good) / (1 - share_of(good))), weights=(0.0,) * features)


def fit(features: Tensor, good: Tensor) -> Logistic:
    """Logistic regression by Newton's method; features (N, F) and good (N) in float64."""
    count, hits = len(good), float(good.sum())
    if min(hits, count - hits) < FEWEST:  # too few of one kind: only the share of good ones is known
        return constant(good, features.shape[1])
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


def calibration_error(probabilities: Tensor, good: Tensor) -> float:
    """Expected calibration error (ECE), with bins of equal size."""
    order = probabilities.argsort()
    bins = [part for part in order.tensor_split(BINS) if len(part)]
    gaps = [len(part) * abs(float(probabilities[part].mean() - good[part].mean())) for part in bins]
    return sum(gaps) / len(good)


def auc(probabilities: Tensor, good: Tensor) -> float | None:
    """The area under the ROC curve: how often a good hypothesis has a higher probability than a bad one.

    None if all are good or all are bad.
    """
    yes, no = probabilities[good > 0.5], probabilities[good <= 0.5]
    if not len(yes) or not len(no):
        return None
    difference = yes[:, None] - no[None, :]
    return float((difference > 0).double().mean() + 0.5 * (difference == 0).double().mean())
