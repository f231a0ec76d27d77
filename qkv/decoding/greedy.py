"""Greedy decoding: the likeliest word at every step."""

import torch
from torch import Tensor

from qkv.decoding.step import Hypothesis, Step


@torch.inference_mode()
def greedy(step: Step, start: Tensor, end: int, limits: Tensor) -> list[Hypothesis]:
    """One hypothesis a row. start (B) is the first id of each row, limits (B) the most ids each may get.

    Scores are plain log-probabilities. A row that has ended leaves the batch at once.
    """
    if int(limits.min()) < 1:
        raise ValueError("every row must be allowed at least one id")
    ids: list[list[int]] = [[] for _ in range(len(start))]
    scores = torch.zeros(len(start), device=start.device)
    finished = torch.zeros(len(start), dtype=torch.bool, device=start.device)
    rows = torch.arange(len(start), device=start.device)  # which sentences are still in the batch
    newest = start
    for length in range(1, int(limits.max()) + 1):
        best, newest = step(newest[:, None]).log_softmax(-1).max(dim=-1)  # (B)
        scores[rows] += best
        ended = newest == end
        finished[rows] = ended
        for row, token, stop in zip(rows.tolist(), newest.tolist(), ended.tolist(), strict=True):
            if not stop:
                ids[row].append(token)
        going = (~ended & (length < limits[rows])).nonzero()[:, 0]
        if len(going) == 0:
            break
        if len(going) < len(rows):
            step.select(going)
            rows, newest = rows[going], newest[going]
    return [Hypothesis(*row) for row in zip(ids, scores.tolist(), finished.tolist(), strict=True)]
