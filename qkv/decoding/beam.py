"""Beam search over a batch of sentences, with the paper's length penalty and a lossless stopping rule."""

from collections.abc import Sequence
from dataclasses import dataclass

from qkv.decoding.arrays import Array, Arrays, arrays_of, is_finite
from qkv.decoding.beam_options import Beam
from qkv.decoding.constraints import MustContain, interleave_levels
from qkv.decoding.hypothesis import Hypothesis
from qkv.decoding.rules import NEVER, Rule, Under
from qkv.decoding.step import AttendingStep, Step

UNSEEN = 1e-4  # the lower bound of attention, so that its logarithm is finite


class Finished:
    """The best finished hypotheses of one sentence, best first."""

    def __init__(self, keep: int):
        self.keep = keep
        self.best: list[Hypothesis] = []
        self.ended = 0  # the number of all finished hypotheses

    def add(self, hypothesis: Hypothesis) -> None:
        self.best = sorted([*self.best, hypothesis], key=lambda h: -h.score)[: self.keep]

    def beaten_by(self, bound: float) -> bool:
        """Whether a hypothesis with a score of at most this bound can still enter the list."""
        return len(self.best) < self.keep or bound > self.best[-1].score


@dataclass
class Paths:
    """Candidates or live beams: W for each of B sentences."""

    generated: Array  # (B, W, length)
    scores: Array  # (B, W): what the search maximizes, before the length penalty
    gains: Array  # (B, W, length): the model's own log-probability of every id
    seen: Array | None = None  # (B, W, S): total attention on each source position, if coverage is used

    def picked(self, sentences: Array, order: Array) -> "Paths":
        """Select these paths, (B', W'), of these sentences, (B', 1)."""
        seen = None if self.seen is None else self.seen[sentences, order]
        generated, gains = self.generated[sentences, order], self.gains[sentences, order]
        return Paths(generated, self.scores[sentences, order], gains, seen)


def beam_search(
    step: Step,
    start: Array,
    end: int,
    limits: Array,
    beam: Beam,
    rules: Sequence[Rule] = (),
    contain: MustContain | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each row, best first. start (B), limits (B) as in `walk`.

    The search of a sentence stops when no live hypothesis can overtake its finished ones. Scores only fall, so a live
    one can reach at most its current score divided by the penalty of the maximum length.
    """
    arrays = arrays_of(start)
    most: list[int] = limits.tolist()
    if min(most) < 1:
        raise ValueError("every row must be allowed at least one id")
    with arrays.inference():
        return search_beams(arrays, step, start, end, most, beam, rules, contain)


def search_beams(
    arrays: Arrays,
    step: Step,
    start: Array,
    end: int,
    limits: list[int],
    beam: Beam,
    rules: Sequence[Rule],
    contain: MustContain | None,
) -> list[list[Hypothesis]]:
    under = Under([*rules, *([] if contain is None else [contain])])
    finished = [Finished(beam.best) for _ in limits]
    sentences = list(range(len(limits)))  # those that are still searched: B of them
    rows, bounds = arrays.arange(len(limits)), arrays.asarray(limits)  # (B) the same, and their limits
    paths = Paths(
        start[:, None, None][:, :, :0], arrays.zeros((len(start), 1)), arrays.zeros((len(start), 1, 0))
    )
    newest = start[:, None]  # (B, W), W = 1 at first
    for length in range(1, max(limits) + 1):
        beams, line = newest.shape[1], arrays.arange(len(sentences))[:, None]  # (B, 1)
        own = arrays.log_softmax(step(newest.reshape(-1, 1)))  # (B·W, V)
        if beam.coverage:
            paths.seen = attention_so_far(paths.seen, step, beams)
        generated = paths.generated.reshape(len(own), -1)
        ruled = under(own, generated, arrays.repeat(rows, beams))
        grown, origin = extend_paths(
            arrays, own, ruled, paths, rows, beam.width, contain
        )  # (B, K) best first
        token = grown.generated[:, :, -1]
        place = arrays.arange(token.shape[1])
        ended = (token == end) | (length >= bounds)[:, None]
        # Only the best W may finish: an end that W others beat is no likelier than what a beam drops.
        collect(arrays, finished, sentences, grown, ended & (place < beam.width), end, length, beam)
        # The best W that continue. If fewer are left, beams of score minus infinity fill up the rest.
        continuing = arrays.argsort(place + len(place) * ended)[:, : beam.width]  # (B, W)
        live = arrays.where(ended, NEVER, grown.scores)[line, continuing]
        best = [max(scores) for scores in live.tolist()]
        going = [
            index
            for index, row in enumerate(sentences)
            if best[index] > NEVER
            and beam.has_patience(finished[row].ended)
            and finished[row].beaten_by(best[index] / beam.penalty(limits[row]))
        ]
        if not going:
            break
        keep = arrays.asarray(going)
        sentences = [sentences[index] for index in going]
        rows, bounds, continuing = rows[keep], bounds[keep], continuing[keep]
        line = keep[:, None]
        origins = (line * beams + origin[line, continuing]).reshape(-1)
        step.select(origins)
        under.select(origins)
        paths, newest = grown.picked(line, continuing), token[line, continuing]
        paths.scores = live[keep]
    return [sentence.best for sentence in finished]


def extend_paths(
    arrays: Arrays,
    own: Array,
    ruled: Array,
    paths: Paths,
    rows: Array,
    width: int,
    contain: MustContain | None,
) -> tuple[Paths, Array]:
    """The candidates, best first, and the beam that each continues, (B, K).

    The next ids of the beams have the log-probabilities `own` and the scores `ruled`, (B·W, V).
    """
    beams, line = paths.scores.shape[1], arrays.arange(len(rows))[:, None]  # (B, 1)
    origin, token, scores = candidates(arrays, ruled, paths.scores, width)
    if contain is not None:
        following = contain.following(paths.generated.reshape(len(own), -1), arrays.repeat(rows, beams))
        best = origin, token
        origin, token, scores = with_following(arrays, best, ruled, paths.scores, following)
    grown = grown_by(arrays, paths.picked(line, origin), token, scores, own[line * beams + origin, token])
    if contain is None:
        return grown, origin
    _, count, length = grown.generated.shape
    levels = contain.level(grown.generated.reshape(-1, length), arrays.repeat(rows, count))
    order = interleave_levels(levels.reshape(-1, count), scores)
    return grown.picked(line, order), origin[line, order]


Candidates = tuple[Array, Array, Array]
"""Continuations to consider, best first: the beam of each, its newest id and its score, each (B, K)."""


def candidates(arrays: Arrays, ruled: Array, scores: Array, width: int) -> Candidates:
    """The best continuations of beams with these scores, (B, W); the next ids have the scores `ruled`, (B·W, V)."""
    sentences, beams = scores.shape
    # Twice the width: at most W of them end here, so at least W can continue.
    gains, ids = arrays.top_k(ruled, min(2 * width, ruled.shape[1]))  # (B·W, k) of each beam
    count = gains.shape[1]
    total = (scores.reshape(-1, 1) + gains).reshape(sentences, beams * count)
    order = arrays.argsort(-total)[:, : 2 * width]  # (B, K)
    line = arrays.arange(sentences)[:, None]
    return order // count, ids.reshape(sentences, beams * count)[line, order], total[line, order]


def with_following(
    arrays: Arrays, best: tuple[Array, Array], ruled: Array, scores: Array, following: tuple[Array, Array]
) -> Candidates:
    """Add for every beam its best continuation and those that its phrases need."""
    origin, token = best
    sentences, beams = scores.shape
    vocab = ruled.shape[1]
    line = arrays.arange(sentences)[:, None]
    likeliest = ruled.argmax(axis=-1)[:, None]  # (B·W, 1)
    ids, needed = following  # (B·W, C)
    more = arrays.concat([arrays.where(needed, ids, likeliest), likeliest], 1)  # (B·W, C + 1)
    more = more + vocab * (arrays.arange(len(more)) % beams)[:, None]
    flat = arrays.concat([origin * vocab + token, more.reshape(sentences, -1)], 1)  # (B, K')
    flat = flat[line, arrays.argsort(flat)]
    repeated = arrays.concat([flat[:, :1] < 0, flat[:, 1:] == flat[:, :-1]], 1)
    origin, token = flat // vocab, flat % vocab
    total = scores[line, origin] + ruled[line * beams + origin, token]
    total = arrays.where(repeated, NEVER, total)
    order = arrays.argsort(-total)[:, : int((~repeated).sum(axis=1).max())]
    return origin[line, order], token[line, order], total[line, order]


def grown_by(arrays: Arrays, paths: Paths, token: Array, scores: Array, gains: Array) -> Paths:
    """Append the newest id (B, K) to each candidate."""
    generated = arrays.concat([paths.generated, token[..., None]], 2)
    return Paths(generated, scores, arrays.concat([paths.gains, gains[..., None]], 2), paths.seen)


def attention_so_far(seen: Array | None, step: Step, beams: int) -> Array:
    """The total attention on every source position so far, (B, W, S)."""
    attending: AttendingStep = step  # type: ignore[assignment]  # coverage requires such a step
    now = attending.attention
    now = now.reshape(-1, beams, now.shape[-1])
    return now if seen is None else seen + now


def collect(
    arrays: Arrays,
    finished: list[Finished],
    sentences: list[int],
    paths: Paths,
    ended: Array,
    end: int,
    length: int,
    beam: Beam,
) -> None:
    """Move finished candidates, (B, K) with True in `ended`, to the lists of their sentences."""
    which = arrays.nonzero(ended & is_finite(paths.scores))
    scores: list[float] = paths.scores[which].tolist()
    for index, candidate, total in zip(which[0].tolist(), which[1].tolist(), scores, strict=True):
        sentence = finished[sentences[index]]
        score = total / beam.penalty(length)
        if paths.seen is not None:
            seen = paths.seen[index, candidate].clip(UNSEEN, 1)
            score += beam.coverage * float(arrays.log(seen).sum())
        sentence.ended += 1
        if sentence.beaten_by(score):
            ids, gains = paths.generated[index, candidate].tolist(), paths.gains[index, candidate].tolist()
            complete = ids[-1] == end
            sentence.add(Hypothesis(ids[:-1] if complete else ids, score, complete, gains))
