"""Beam search over a batch of sentences, with the paper's length penalty and a lossless stopping rule."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from qkv.decoding.constraints import MustContain, interleave_levels
from qkv.decoding.rules import NEVER, Rule, under
from qkv.decoding.step import AttendingStep, Hypothesis, Step

LengthPenalty = Callable[[int], float]
"""The divisor of a log-probability by length, including the end token. It never falls as the length grows."""
UNSEEN = 1e-4  # the lower bound of attention, so that its logarithm is finite


def paper_penalty(alpha: float) -> LengthPenalty:
    """Wu et al. 2016, equation 14, which the Transformer's paper uses."""
    return lambda length: ((5 + length) / 6) ** alpha


def power_penalty(alpha: float) -> LengthPenalty:
    """A power of the length, as in fairseq and Hugging Face transformers."""
    return lambda length: float(length**alpha)


@dataclass(frozen=True, kw_only=True)
class Beam:
    """The settings of a beam search."""

    width: int
    penalty: LengthPenalty
    best: int = 1
    """Number of hypotheses per sentence."""
    patience: float | None = None
    """Stop when this many times the width have finished (Kasai et al. 2022); by default, when nothing can change."""
    coverage: float = 0.0
    """Weight of the coverage penalty (Wu et al. 2016): source words with little attention lower the score."""

    def __post_init__(self) -> None:
        if self.width < 1 or self.best < 1:
            raise ValueError("beam width and number of hypotheses must be at least 1")
        if (self.patience is not None and not self.patience > 0) or not self.coverage >= 0:
            raise ValueError("patience must be above 0 and the coverage penalty not negative")
        if not math.isfinite(self.penalty(1)) or self.penalty(2) < self.penalty(1):
            raise ValueError("the length penalty must not be negative")

    @property
    def enough_ended(self) -> int | None:
        """The number of finished hypotheses at which to stop."""
        return None if self.patience is None else math.ceil(self.patience * self.width)

    def has_patience(self, ended: int) -> bool:
        return self.enough_ended is None or ended < self.enough_ended


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

    generated: Tensor  # (B, W, length)
    scores: Tensor  # (B, W): what the search maximises, before the length penalty
    gains: Tensor  # (B, W, length): the model's own log-probability of every id
    seen: Tensor | None = None  # (B, W, S): total attention on each source position, if coverage is used

    def picked(self, order: Tensor) -> "Paths":
        """Select these paths of each sentence, (B, W')."""

        def along(each: Tensor) -> Tensor:
            return each.gather(1, order[..., None].expand(-1, -1, each.shape[2]))

        seen = None if self.seen is None else along(self.seen)
        return Paths(along(self.generated), self.scores.gather(1, order), along(self.gains), seen)

    def of(self, sentences: Tensor) -> "Paths":
        seen = None if self.seen is None else self.seen[sentences]
        return Paths(self.generated[sentences], self.scores[sentences], self.gains[sentences], seen)


@torch.inference_mode()
def beam_search(
    step: Step,
    start: Tensor,
    end: int,
    limits: Tensor,
    beam: Beam,
    rules: Sequence[Rule] = (),
    contain: MustContain | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each row, best first. start (B), limits (B) as in `walk`.

    The search of a sentence stops when no live hypothesis can overtake its finished ones. Scores only fall, so a live
    one can reach at most its current score divided by the penalty of the maximum length.
    """
    if int(limits.min()) < 1:
        raise ValueError("every row must be allowed at least one id")
    every_rule = [*rules, *([] if contain is None else [contain])]
    finished = [Finished(beam.best) for _ in range(len(start))]
    rows = torch.arange(len(start), device=start.device)  # (B) sentences that are still searched
    nothing = start.new_empty(len(start), 1, 0)
    paths = Paths(nothing, torch.zeros(len(start), 1, device=start.device), nothing.float())  # W = 1 at first
    newest = start[:, None]  # (B, W)
    for length in range(1, int(limits.max()) + 1):
        beams = newest.shape[1]
        own = step(newest.reshape(-1, 1)).float().log_softmax(-1)  # (B·W, V)
        if beam.coverage:
            paths.seen = attention_so_far(paths.seen, step, beams)
        each = rows.repeat_interleave(beams)
        generated = paths.generated.flatten(0, 1)
        ruled = under(every_rule, own, generated, each).view(len(rows), -1)  # (B, W·V)
        vocab = own.shape[-1]
        total = (paths.scores[..., None] + ruled.view(len(rows), beams, vocab)).flatten(1)
        flat = candidates(total, beam.width, generated, each, contain)  # (B, K) best first
        origin, token = flat // vocab, flat % vocab
        grown = grown_by(paths.picked(origin), token, total.gather(1, flat), own.view(len(rows), -1), flat)
        if contain is not None:
            levels = contain.level(grown.generated.flatten(0, 1), rows.repeat_interleave(flat.shape[1]))
            order = interleave_levels(levels.view(flat.shape), grown.scores)
            grown, origin, token = grown.picked(order), origin.gather(1, order), token.gather(1, order)
        place = torch.arange(flat.shape[1], device=start.device)
        last = (length >= limits[rows])[:, None]  # (B, 1)
        ended = (token == end) | last
        # Only the best W may finish: an end that W others beat is no likelier than what a beam drops.
        collect(finished, rows, grown, ended & (place < beam.width), end, length, beam)
        # The best W that continue. If fewer are left, beams of score minus infinity fill up the rest.
        continuing = (place + flat.shape[1] * ended).argsort(-1)[:, : beam.width]  # (B, W)
        live = grown.scores.masked_fill(ended, NEVER).gather(1, continuing)
        going = [
            index
            for index, (row, best) in enumerate(zip(rows.tolist(), live.amax(1).tolist(), strict=True))
            if best > NEVER
            and beam.has_patience(finished[row].ended)
            and finished[row].beaten_by(best / beam.penalty(int(limits[row])))
        ]
        if not going:
            break
        keep = torch.tensor(going, device=start.device)
        paths = grown.picked(continuing).of(keep)
        paths.scores = live[keep]
        newest = token.gather(1, continuing)[keep]
        step.select((keep[:, None] * beams + origin.gather(1, continuing)[keep]).flatten())
        rows = rows[keep]
    return [sentence.best for sentence in finished]


def candidates(
    total: Tensor, width: int, generated: Tensor, rows: Tensor, contain: MustContain | None
) -> Tensor:
    """The continuations to consider, (B, K) indices into the totals (B, W·V), best first."""
    # Twice the width: at most W of them end here, so at least W can continue.
    count = min(2 * width, total.shape[1])
    flat = total.topk(count).indices
    if contain is None:
        return flat
    # Also, for every beam, its best continuation and those that its phrases need.
    beams = len(generated) // len(total)
    vocab = total.shape[1] // beams
    offset = vocab * torch.arange(beams, device=total.device)[None, :, None]  # (1, W, 1)
    ids, needed = (each.view(len(total), beams, -1) for each in contain.following(generated, rows))
    best = total.view(len(total), beams, vocab).argmax(-1, keepdim=True)
    more = torch.cat([torch.where(needed, ids, best), best], -1) + offset  # (B, W, C + 1)
    wanted = torch.zeros_like(total, dtype=torch.bool).scatter(1, torch.cat([flat, more.flatten(1)], 1), True)
    return total.masked_fill(~wanted, NEVER).topk(min(total.shape[1], int(wanted.sum(1).max()))).indices


def grown_by(paths: Paths, token: Tensor, scores: Tensor, own: Tensor, flat: Tensor) -> Paths:
    """Append the newest id (B, K) to each candidate."""
    generated = torch.cat([paths.generated, token[..., None]], -1)
    gains = torch.cat([paths.gains, own.gather(1, flat)[..., None]], -1)
    return Paths(generated, scores, gains, paths.seen)


def attention_so_far(seen: Tensor | None, step: Step, beams: int) -> Tensor:
    """The total attention on every source position so far, (B, W, S)."""
    attending: AttendingStep = step  # type: ignore[assignment]  # coverage requires such a step
    now = attending.attention.unflatten(0, (-1, beams))
    return now if seen is None else seen + now


def collect(
    finished: list[Finished], rows: Tensor, paths: Paths, ended: Tensor, end: int, length: int, beam: Beam
) -> None:
    """Move finished candidates, (B, K) with True in `ended`, to the lists of their sentences."""
    for index, candidate in (ended & paths.scores.isfinite()).nonzero().tolist():
        sentence = finished[int(rows[index])]
        score = float(paths.scores[index, candidate]) / beam.penalty(length)
        if paths.seen is not None:
            score += beam.coverage * float(paths.seen[index, candidate].clamp(UNSEEN, 1).log().sum())
        sentence.ended += 1
        if sentence.beaten_by(score):
            ids, gains = paths.generated[index, candidate].tolist(), paths.gains[index, candidate].tolist()
            complete = ids[-1] == end
            sentence.add(Hypothesis(ids[:-1] if complete else ids, score, complete, gains))
