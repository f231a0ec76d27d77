"""Phrases that an answer must contain, for beam search (after Post and Vilar 2018, without state).

The beam is shared out among hypotheses that are equally far with their phrases, so that those which have said
them early do not crowd out those which say them where they fit; nobody may end before all are said.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.decoding.rules import NEVER, NOTHING, PhraseTable, begun, forbid, nothing_but


class MustContain:
    """A rule, and what beam search asks it to share out its places.

    `phrases` are those of each sentence. Each is said whole and at once; what follows it is an id of `boundary`
    (V), True where no word is continued. The first `once` phrases of each sentence are not said a second time.
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
            raise ValueError("there is no phrase to contain")
        self.limits, self.end, self.boundary, self.once = limits, end, boundary, once
        needed = self.table.lengths.sum(1) + 1
        if bool((needed > limits).any()):
            raise ValueError("the phrases of a sentence and its end are longer than it may become")

    def __call__(self, scores: Tensor, said: Tensor, rows: Tensor) -> Tensor:
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]  # (N, C, n), (N, C)
        met = self.met(said, rows)
        started = begun(ids, lengths, said)  # (N, C)
        following = ids.gather(2, started[..., None])[..., 0]  # (N, C): what continues each phrase
        original = scores
        just = whole_at_the_end(ids, lengths, said).any(1, keepdim=True)  # (N, 1)
        waiting = ~met & (lengths > 0)  # (N, C)
        going_on = torch.zeros_like(scores, dtype=torch.bool)  # with a longer phrase
        going_on.scatter_reduce_(1, following.clamp(min=0), waiting & (started > 0), "amax")
        scores = scores.masked_fill(just & ~self.boundary & ~going_on, NEVER)
        if self.once:
            again = met & (started == lengths - 1) & (lengths > 0)
            scores = forbid(scores, following[:, : self.once], again[:, : self.once])
        unmet = waiting.any(1)
        scores = torch.where(unmet[:, None] & self.is_end(scores), NEVER, scores)
        # Where there is just room for what must still be said, nothing else is; a phrase that was begun goes on.
        still = torch.where(waiting, lengths, 0).sum(1)
        tight = unmet & (self.limits[rows] - said.shape[1] <= still + 1)
        progress = torch.where(waiting, started, -1)
        furthest = waiting & (progress == progress.amax(1, keepdim=True))  # all of them where none is begun
        return torch.where(tight[:, None], nothing_but(following, furthest, original), scores)

    def is_end(self, scores: Tensor) -> Tensor:
        return torch.arange(scores.shape[1], device=scores.device) == self.end

    def met(self, said: Tensor, rows: Tensor) -> Tensor:
        """Which phrases stand in what was said, (N, C)."""
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]
        longest = ids.shape[2]
        filler = said.new_full((len(said), longest), NOTHING - 1)  # equal to no id
        windows = torch.cat([said, filler], 1).unfold(1, longest, 1)  # (N, length + 1, n)
        same = (windows[:, :, None] == ids[:, None]) | (ids == NOTHING)[:, None]  # (N, length + 1, C, n)
        return same.all(-1).any(1) & (lengths > 0)

    def level(self, said: Tensor, rows: Tensor) -> Tensor:
        """How many ids of its phrases a hypothesis has said, (N)."""
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]
        met = self.met(said, rows)
        started = torch.where(met, 0, begun(ids, lengths, said))
        return torch.where(met, lengths, 0).sum(1) + started.amax(1)

    def following(self, said: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Ids (N, C) that begin or continue phrases which are still to be said, and where there is one."""
        ids, lengths = self.table.ids[rows], self.table.lengths[rows]
        found = ids.gather(2, begun(ids, lengths, said)[..., None])[..., 0]
        return found.clamp(min=0), ~self.met(said, rows) & (lengths > 0)


def whole_at_the_end(ids: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """Which phrases, (N, C, n), end with the newest id, (N, C)."""
    found = torch.zeros_like(lengths, dtype=torch.bool)
    for count in range(1, min(ids.shape[2], said.shape[1]) + 1):
        same = (ids[..., :count] == said[:, None, said.shape[1] - count :]).all(-1)
        found |= same & (lengths == count)
    return found


def interleave_levels(levels: Tensor, scores: Tensor) -> Tensor:
    """An order of candidates, (B, K) best first: the best of every level, then the second of every level, and so on."""
    so_far = F.one_hot(levels).cumsum(
        1
    )  # (B, K, levels): how many of each level there are up to each candidate
    rank = so_far.gather(2, levels[..., None])[..., 0] - 1  # (B, K): how many of its level are better
    rank = torch.where(scores.isfinite(), rank, levels.shape[1])
    return rank.argsort(dim=-1, stable=True)
