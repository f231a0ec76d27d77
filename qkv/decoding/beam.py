"""Beam search over a batch of sentences, with the paper's length penalty and a stop that loses nothing."""

import torch
from torch import Tensor

from qkv.decoding.step import Hypothesis, Step


def length_penalty(length: int, alpha: float) -> float:
    """Wu et al. 2016, equation 14: what the log-probability is divided by."""
    return ((5 + length) / 6) ** alpha


class Finished:
    """The best hypotheses of one sentence that have reached their end, best first."""

    def __init__(self, keep: int):
        self.keep = keep
        self.best: list[Hypothesis] = []

    def add(self, hypothesis: Hypothesis) -> None:
        self.best = sorted([*self.best, hypothesis], key=lambda h: -h.score)[: self.keep]

    def beaten_by(self, bound: float) -> bool:
        """Could a hypothesis with a score of at most this bound still enter the list?"""
        return len(self.best) < self.keep or bound > self.best[-1].score


@torch.inference_mode()
def beam_search(
    step: Step, start: Tensor, end: int, limits: Tensor, *, width: int, alpha: float, best: int = 1
) -> list[list[Hypothesis]]:
    """The `best` hypotheses of each row, best first. start (B), limits (B) as in greedy.

    A sentence ends when no live hypothesis can overtake its finished ones: scores only fall, so the most
    that a live one can reach is what it has now, divided by the penalty of the greatest length allowed.
    """
    if width < 1 or best < 1 or alpha < 0:
        raise ValueError(
            "beam width and number of hypotheses must be at least 1, the length penalty not negative"
        )
    if int(limits.min()) < 1:
        raise ValueError("every row must be allowed at least one id")
    finished = [Finished(best) for _ in range(len(start))]
    rows = torch.arange(len(start), device=start.device)  # (B) which sentences are still searched
    prefixes = start.new_empty(len(start), 1, 0)  # (B, W, length): what each beam has said, W = 1 at first
    scores = torch.zeros(len(start), 1, device=start.device)  # (B, W)
    newest = start[:, None]  # (B, W)
    for length in range(1, int(limits.max()) + 1):
        beams = newest.shape[1]
        log_probability = step(newest.reshape(-1, 1)).log_softmax(-1).float()  # (B·W, V)
        vocab = log_probability.shape[-1]
        total = scores[..., None] + log_probability.view(-1, beams, vocab)  # (B, W, V)
        # Twice the width: at most W of them end here, so that W are left to go on.
        top, flat = total.flatten(1).topk(min(2 * width, beams * vocab))  # (B, 2W)
        beam, token = flat // vocab, flat % vocab
        grown = torch.cat(
            [prefixes.gather(1, beam[..., None].expand(-1, -1, length - 1)), token[..., None]], -1
        )
        last = (length >= limits[rows])[:, None]  # (B, 1)
        ended = (token == end) | last
        # Only the best W may end: an end that W others beat is no likelier than what a beam would drop.
        ending = ended & top.isfinite() & (torch.arange(top.shape[1], device=top.device) < width)
        collect(finished, rows, grown, top, ending, end, length_penalty(length, alpha))
        # The best W that go on. Where fewer are left, beams of score minus infinity fill the places.
        scores, order = top.masked_fill(ended, float("-inf")).topk(min(width, top.shape[1]))  # (B, W)
        going = [
            index
            for index, (row, live) in enumerate(zip(rows.tolist(), scores[:, 0].tolist(), strict=True))
            if live > float("-inf")
            and finished[row].beaten_by(live / length_penalty(int(limits[row]), alpha))
        ]
        if not going:
            break
        keep = torch.tensor(going, device=start.device)
        beam, newest = beam.gather(1, order)[keep], token.gather(1, order)[keep]
        prefixes = grown.gather(1, order[..., None].expand(-1, -1, length))[keep]
        step.select((keep[:, None] * beams + beam).flatten())
        rows, scores = rows[keep], scores[keep]
    return [sentence.best for sentence in finished]


def collect(
    finished: list[Finished],
    rows: Tensor,
    sequences: Tensor,
    scores: Tensor,
    ended: Tensor,
    end: int,
    penalty: float,
) -> None:
    """Move the ended candidates, (B, 2W) with True in `ended`, to their sentences' lists."""
    for index, candidate in ended.nonzero().tolist():
        row, score = int(rows[index]), float(scores[index, candidate]) / penalty
        if finished[row].beaten_by(score):
            ids = sequences[index, candidate].tolist()
            complete = ids[-1] == end
            finished[row].add(Hypothesis(ids[:-1] if complete else ids, score, complete))
