"""Sampling: tokens drawn from the model's probabilities, optionally only from the likeliest ones."""

from collections.abc import Sequence

import torch
from torch import Tensor

from qkv.decoding.rules import NEVER, Rule
from qkv.decoding.sampling_options import Sampling as Sampling
from qkv.decoding.step import Hypothesis, Step
from qkv.decoding.walk import gathered, walk

DRAWN_AT_ONCE = 1_024  # random numbers per row


@torch.inference_mode()
def sample(
    step: Step,
    start: Tensor,
    end: int,
    limits: Tensor,
    sampling: Sampling,
    seeds: Sequence[int],
    rules: Sequence[Rule] = (),
) -> list[Hypothesis]:
    """One hypothesis per row. Each row has a seed, so its tokens do not depend on its neighbours."""
    return gathered(walk(step, start, end, limits, Draw(sampling, seeds, limits), rules), len(start), end)


class Draw:
    """Chooses ids for `walk` at random: a function of the seed of a row and of the position in it."""

    def __init__(self, sampling: Sampling, seeds: Sequence[int], limits: Tensor):
        self.sampling = sampling
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.at_once = min(int(limits.max()), DRAWN_AT_ONCE)
        self.draws = torch.empty(len(seeds), 0, device=limits.device)  # (B, drawn so far)

    def draw(self, rows: Tensor, place: int) -> Tensor:
        """A random number for each row. (N, 1)"""
        while place >= self.draws.shape[1]:
            more = torch.stack([torch.rand(self.at_once, generator=each) for each in self.generators])
            self.draws = torch.cat([self.draws, more.to(self.draws.device)], dim=1)
        return self.draws[rows, place, None]

    def __call__(self, scores: Tensor, length: int, rows: Tensor) -> Tensor:
        ordered, ids = narrowed(scores, self.sampling)
        up_to = ordered.cumsum(-1)  # (N, V)
        drawn = self.draw(rows, length) * up_to[:, -1:]
        place = (up_to <= drawn).sum(-1, keepdim=True).clamp(max=ids.shape[-1] - 1)
        place = torch.minimum(place, (ordered > 0).sum(-1, keepdim=True) - 1)  # never an excluded one
        return ids.gather(1, place)[:, 0]


def narrowed(scores: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Probabilities of the tokens, 0 for excluded ones, and their ids: likeliest first. (N, V)"""
    ordered, ids = (scores / sampling.temperature).sort(dim=-1, descending=True, stable=True)
    if sampling.top_k:
        ordered = ordered[:, : min(sampling.top_k, ordered.shape[-1])]
    probabilities = ordered.softmax(-1)
    out = probabilities < sampling.min_p * probabilities[:, :1]
    out |= probabilities.cumsum(-1) - probabilities >= sampling.top_p  # the tokens before it are enough
    out[:, 0] = False
    return ordered.masked_fill(out, NEVER).softmax(-1), ids[:, : ordered.shape[-1]]
