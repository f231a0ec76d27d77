"""Phrases that a hypothesis must contain, for beam search (after Post and Vilar 2018, without state).

The beam is divided among hypotheses by how many phrase tokens they contain, so that those that place phrases early do
not crowd out those that place them where they fit. No hypothesis may end before it contains all phrases.
"""

from collections.abc import Sequence

import numpy as np

from qkv.decoding.arrays import Array, Arrays, arrays_of, is_finite, to_numpy
from qkv.decoding.rules import NEVER, NOTHING, Forced, PhraseTable, Table, begun, forbid, windows


class MustContain:
    """A rule, and the levels by which beam search divides its beams.

    `phrases` are those of each sentence. Each occurs contiguously, followed by an id of `boundary` (V), which is True
    for ids that do not continue a word. The first `once` phrases of each sentence must not occur twice.
    """

    def __init__(
        self,
        phrases: Sequence[Sequence[Sequence[int]]],
        limits: Array,
        end: int,
        boundary: Array | Sequence[bool],
        once: int = 0,
    ):
        self.table, self.limits = PhraseTable(phrases), Table(limits)
        if not self.table.needed.any():
            raise ValueError("no phrases to contain")
        if (self.table.needed + 1 > to_numpy(limits)).any():
            raise ValueError("the phrases of a sentence do not fit into its length limit")
        self.within = Table(np.flatnonzero(~to_numpy(boundary)))  # ids that continue a word
        self.end, self.once = end, once

    def acts(self, length: int) -> bool:
        return True

    def __call__(self, scores: Array, generated: Array, rows: Array) -> None:
        arrays = arrays_of(scores)
        ids, lengths = self.table.of(arrays, rows)  # (N, C, n), (N, C)
        met = self.met(generated, rows)
        started = begun(arrays, ids, lengths, generated)  # (N, C)
        following = at(arrays, ids, started)  # (N, C): the next id of each phrase
        waiting = ~met & (lengths > 0)  # (N, C)
        # If the remaining room is just enough for the missing phrases, allow nothing else, and finish a phrase once begun.
        room = self.limits.on(arrays)[rows] - generated.shape[1]
        tight = room <= (lengths * waiting).sum(axis=1) + 1
        progress = arrays.where(waiting, started, -1)
        furthest = waiting & (progress == arrays.maximum(progress))  # all of them if none is begun
        forced = Forced(arrays, scores, following, furthest & tight[:, None])
        just = whole_at_the_end(ids, lengths, generated).any(axis=1)  # (N)
        self.end_words(arrays, scores, just, following, waiting & (started > 0))
        if self.once:
            again = met & (started == lengths - 1) & (lengths > 0)
            forbid(arrays, scores, following[:, : self.once], again[:, : self.once])
        scores[arrays.nonzero(waiting.any(axis=1))[0], self.end] = NEVER
        forced.apply()

    def end_words(
        self, arrays: Arrays, scores: Array, just: Array, following: Array, continues: Array
    ) -> None:
        """A phrase that is just complete ends its word, unless a longer phrase continues it."""
        (rows,) = arrays.nonzero(just)
        if not len(rows):
            return
        line, place = arrays.nonzero(continues & just[:, None])
        kept = scores[line, following[line, place]]
        scores[rows[:, None], self.within.on(arrays)] = NEVER
        scores[line, following[line, place]] = kept

    def met(self, generated: Array, rows: Array) -> Array:
        """Which phrases occur in the generated ids, (N, C)."""
        arrays = arrays_of(generated)
        ids, lengths = self.table.of(arrays, rows)
        longest = ids.shape[2]
        filler = arrays.full((len(generated), longest), NOTHING - 1)  # equal to no id
        each = windows(arrays, arrays.concat([generated, filler], 1), longest)  # (N, length + 1, n)
        same = (each[:, :, None] == ids[:, None]) | (ids == NOTHING)[:, None]  # (N, length + 1, C, n)
        return same.all(axis=-1).any(axis=1) & (lengths > 0)

    def level(self, generated: Array, rows: Array) -> Array:
        """How many ids of its phrases each hypothesis contains, (N)."""
        arrays = arrays_of(generated)
        ids, lengths = self.table.of(arrays, rows)
        met = self.met(generated, rows)
        started = ~met * begun(arrays, ids, lengths, generated)
        return (met * lengths).sum(axis=1) + arrays.maximum(started)[:, 0]

    def following(self, generated: Array, rows: Array) -> tuple[Array, Array]:
        """Ids (N, C) that begin or continue missing phrases, and a mask of the missing ones."""
        arrays = arrays_of(generated)
        ids, lengths = self.table.of(arrays, rows)
        found = at(arrays, ids, begun(arrays, ids, lengths, generated))
        return found, ~self.met(generated, rows) & (lengths > 0)


def at(arrays: Arrays, ids: Array, place: Array) -> Array:
    """The id of each phrase, (N, C, n), at its place, (N, C). 0 for a phrase that does not exist."""
    rows, phrases = arrays.arange(ids.shape[0]), arrays.arange(ids.shape[1])
    return ids[rows[:, None], phrases, place].clip(min=0)


def whole_at_the_end(ids: Array, lengths: Array, generated: Array) -> Array:
    """Which phrases, (N, C, n), end with the newest id, (N, C)."""
    found = lengths < 0
    for count in range(1, min(ids.shape[2], generated.shape[1]) + 1):
        same = (ids[..., :count] == generated[:, None, generated.shape[1] - count :]).all(axis=-1)
        found = found | (same & (lengths == count))
    return found


def interleave_levels(levels: Array, scores: Array) -> Array:
    """Order candidates, (B, K) best first: the best of every level, then the second of every level, and so on."""
    arrays = arrays_of(levels)
    sentences, count = levels.shape
    is_level = levels[:, :, None] == arrays.arange(int(levels.max()) + 1)  # (B, K, levels)
    so_far = is_level.cumsum(axis=1)  # the count of each level up to each candidate
    rank = so_far[arrays.arange(sentences)[:, None], arrays.arange(count), levels]  # (B, K): within its level
    return arrays.argsort(arrays.where(is_finite(scores), rank, count + 1))
