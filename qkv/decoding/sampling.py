"""Sampling: tokens drawn from the model's probabilities, optionally only from the likeliest ones."""

from collections.abc import Sequence

import numpy as np

from qkv.decoding.arrays import Array, Arrays, arrays_of
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import Rule
from qkv.decoding.sampling_options import Sampling as Sampling
from qkv.decoding.step import Step
from qkv.decoding.walk import gather_hypotheses, walk

DRAWN_AT_ONCE = 1_024  # random numbers per row
LIKELIEST = 256  # tokens among which the nucleus is looked for first


def sample(
    step: Step,
    start: Array,
    end: int,
    limits: Array,
    sampling: Sampling,
    seeds: Sequence[int],
    rules: Sequence[Rule] = (),
) -> list[Hypothesis]:
    """One hypothesis per row. Each row has a seed, so its tokens do not depend on its neighbours."""
    with arrays_of(start).inference():
        return gather_hypotheses(
            walk(step, start, end, limits, Draw(sampling, seeds, limits), rules), len(start), end
        )


class Draw:
    """Chooses ids for `walk` at random: a function of the seed of a row and of the position in it.

    NumPy draws the numbers, so that a seed means the same for NumPy and torch.
    """

    def __init__(self, sampling: Sampling, seeds: Sequence[int], limits: Array):
        self.sampling = sampling
        self.generators = [np.random.Philox(key=seed % 2**64) for seed in seeds]
        self.at_once = min(int(limits.max()), DRAWN_AT_ONCE)
        self.draws = arrays_of(limits).asarray(np.empty((len(seeds), 0)))  # (B, drawn so far)

    def draw(self, rows: Array, place: int) -> Array:
        """A random number for each row. (N, 1)"""
        arrays = arrays_of(rows)
        while place >= self.draws.shape[1]:
            more = np.stack([uniform(each, self.at_once) for each in self.generators])
            self.draws = arrays.concat([self.draws, arrays.asarray(more)], 1)
        return self.draws[rows, place][:, None]

    def __call__(self, scores: Array, length: int, rows: Array) -> Array:
        arrays = arrays_of(scores)
        weights, ids = narrowed(scores, self.sampling)
        up_to = arrays.cumulative_sum(weights)  # (N, K)
        total = up_to[:, -1:]
        place = (up_to <= self.draw(rows, length) * total).sum(axis=-1)
        last = (up_to < total).sum(axis=-1)  # rounding may lead beyond the last one that may be drawn
        place = arrays.where(place < last, place, last)
        return place if ids is None else ids[arrays.arange(len(ids)), place]


def uniform(generator: np.random.Philox, count: int) -> Array:
    """Numbers in [0, 1) from the raw bits, which NumPy promises to keep in later versions."""
    return (np.asarray(generator.random_raw(count)) >> np.uint64(11)) * 2.0**-53


def narrowed(scores: Array, sampling: Sampling) -> tuple[Array, Array | None]:
    """Weights of tokens, 0 for excluded ones, and their ids in ascending order; None for the whole vocabulary. (N, K)

    The order of likelihood would depend on rounding where tokens are almost equally likely.
    """
    arrays = arrays_of(scores)
    scaled, ids = scores / sampling.temperature, None
    if sampling.top_k:
        scaled, ids = arrays.top_k(scaled, min(sampling.top_k, scaled.shape[-1]))
    if sampling.top_p == 1:
        weights = arrays.exp(scaled - arrays.maximum(scaled))
    else:
        weights, ids = nucleus(arrays, scaled, ids, sampling.top_p)
    if sampling.min_p:
        weights = weights * (weights >= sampling.min_p * arrays.maximum(weights))
    if ids is None:
        return weights, ids
    line, order = arrays.arange(len(ids))[:, None], arrays.argsort(ids)
    return weights[line, order], ids[line, order]


def nucleus(arrays: Arrays, scaled: Array, ids: Array | None, top_p: float) -> tuple[Array, Array]:
    """The probabilities of the fewest tokens that add up to `top_p`, and their ids, likeliest first."""
    total = arrays.log_sum_exp(scaled, -1)[:, None]
    vocab = scaled.shape[-1]
    few = [count for count in (LIKELIEST, 16 * LIKELIEST) if 4 * count <= vocab]  # cheaper than all
    for count in (*few, vocab):
        ordered, places = arrays.top_k(scaled, count)
        probabilities = arrays.exp(ordered - total)
        up_to = arrays.cumulative_sum(probabilities)
        if bool((up_to[:, -1] >= top_p).all()):
            break
    found = places if ids is None else ids[arrays.arange(len(ids))[:, None], places]
    return probabilities * (up_to - probabilities < top_p), found
