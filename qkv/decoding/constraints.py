"""Phrases that a hypothesis must contain, for beam search (after Post and Vilar 2018, without state).

The beam is divided among hypotheses by how many phrase tokens they contain, so that those that place phrases early do
not crowd out those that place them where they fit. No hypothesis may end before it contains all phrases.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.decoding.rules import NEVER, NOTHING, PhraseTable, begun, forbid, nothing_but


class MustContain:
    """A rule, and the levels by which beam search divides its beams.

    `phrases` are those of each sentence. Each occurs contiguously, followed by an id of `boundary` (V), which is True
    for ids that do not continue a word. The first `once` phrases of each sentence must not occur twice.
    """

    def __init__(
        self,
        phrases: Sequence[Sequence[Sequence[int]]],
        limits: Tensor,
        end: int,
        boundary: Tensor,
        once: int = 0,
    ):
        self.table = PhraseTable(phrases, limits.device)
        if not self.table.lengths.numel():
            raise ValueError("no phrases to contain")
        self.limits, self.end, self.boundary, self.once = limits, end, boundary, once
        needed = self.table.lengths.sum(1) + 1
        if bool((needed > limits).any()):
            raise ValueError("the phrases of a sentence do not fit into its length limit")

    def __call__(self, scores: Tensor, generated: Tensor, rows: Tensor) -> Tensor:
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]  # (N, C, n), (N, C)
        met = self.met(generated, rows)
        started = begun(ids, lengths, generated)  # (N, C)
        following = ids.gather(2, started[..., None])[..., 0]  # (N, C): the next id of each phrase
        original = scores
        just = whole_at_the_end(ids, lengths, generated).any(1, keepdim=True)  # (N, 1)
        waiting = ~met & (lengths > 0)  # (N, C)
        continues = torch.zeros_like(scores, dtype=torch.bool)  # with a longer phrase
        continues.scatter_reduce_(1, following.clamp(min=0), waiting & (started > 0), "amax")
        scores = scores.masked_fill(just & ~self.boundary & ~continues, NEVER)
        if self.once:
            again = met & (started == lengths - 1) & (lengths > 0)
            scores = forbid(scores, following[:, : self.once], again[:, : self.once])
        unmet = waiting.any(1)
        scores = torch.where(unmet[:, None] & self.is_end(scores), NEVER, scores)
        # If the remaining room is just enough for the missing phrases, allow nothing else, and finish a phrase once begun.
        still = torch.where(waiting, lengths, 0).sum(1)
        tight = unmet & (self.limits[rows] - generated.shape[1] <= still + 1)
        progress = torch.where(waiting, started, -1)
        furthest = waiting & (progress == progress.amax(1, keepdim=True))  # all of them if none is begun
        return torch.where(tight[:, None], nothing_but(following, furthest, original), scores)

    def is_end(self, scores: Tensor) -> Tensor:
        return torch.arange(scores.shape[1], device=scores.device) == self.end

    def met(self, generated: Tensor, rows: Tensor) -> Tensor:
        """Which phrases occur in the generated ids, (N, C)."""
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]
        longest = ids.shape[2]
        filler = generated.new_full((len(generated), longest), NOTHING - 1)  # equal to no id
        windows = torch.cat([generated, filler], 1).unfold(1, longest, 1)  # (N, length + 1, n)
        same = (windows[:, :, None] == ids[:, None]) | (ids == NOTHING)[:, None]  # (N, length + 1, C, n)
        return same.all(-1).any(1) & (lengths > 0)

    def level(self, generated: Tensor, rows: Tensor) -> Tensor:
        """How many ids of its phrases each hypothesis contains, (N)."""
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]
        met = self.met(generated, rows)
        started = torch.where(met, 0, begun(ids, lengths, generated))
        return torch.where(met, lengths, 0).sum(1) + started.amax(1)

    def following(self, generated: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Ids (N, C) that begin or continue missing phrases, and a mask of the missing ones."""
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]
        found = ids.gather(2, begun(ids, lengths, generated)[..., None])[..., 0]
        return found.clamp(min=0), ~self.met(generated, rows) & (lengths > 0)


def whole_at_the_end(ids: Tensor, lengths: Tensor, generated: Tensor) -> Tensor:
    """Which phrases, (N, C, n), end with the newest id, (N, C)."""
    found = torch.zeros_like(lengths, dtype=torch.bool)
    for count in range(1, min(ids.shape[2], generated.shape[1]) + 1):
        same = (ids[..., :count] == generated[:, None, generated.shape[1] - count :]).all(-1)
        found |= same & (lengths == count)
    return found


def interleave_levels(levels: Tensor, scores: Tensor) -> Tensor:
    """Order candidates, (B, K) best first: the best of every level, then the second of every level, and so on."""
    so_far = F.one_hot(levels).cumsum(1)  # (B, K, levels): the count of each level up to each candidate
    rank = so_far.gather(2, levels[..., None])[..., 0] - 1  # (B, K): the rank within its level
    rank = torch.where(scores.isfinite(), rank, levels.shape[1])
    return rank.argsort(dim=-1, stable=True)
