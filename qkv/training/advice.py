"""Decide from the log of a run whether it was long enough."""

import json
from collections.abc import Sequence
from pathlib import Path

LATE = 0.8  # the end of a run is what follows this share of its steps
FALLING = 0.01  # if the loss fell by more than this share at the end, more time would help


def is_still_falling(losses: Sequence[tuple[int, float]]) -> bool:
    """Was the validation loss still falling at the end? `losses` are pairs of step and loss, in order."""
    if not losses:
        return False
    last_step, last = losses[-1]
    if last > min(loss for _, loss in losses):
        return False
    earlier = [loss for step, loss in losses[:-1] if step <= LATE * last_step]
    return not earlier or last < (1 - FALLING) * earlier[-1]


def validation_losses(log: Path) -> list[tuple[int, float]]:
    """Steps and validation losses in a log; empty if it cannot be read, because advice is not worth an error."""
    try:
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        return [(row["step"], row["validation_loss"]) for row in rows if "validation_loss" in row]
    except (OSError, ValueError, KeyError, TypeError):
        return []
