"""The learning rate as a pure function of step and progress."""

import math

from qkv.training.settings import TrainingSettings

LONGEST_WARMUP = 0.125  # of a run with the linear schedule


def rate_at(settings: TrainingSettings, step: int, progress: float) -> float:
    """The learning rate of this step, counted from 1. Progress is the finished share of the run, 0 to 1.

    "inverse-root" is equation 3 of the paper: with a peak of (width · warmup)^-½ it equals
    width^-½ · min(step^-½, step · warmup^-1½).
    """
    warmup = max(1, settings.warmup_steps)
    rising = min(1.0, step / warmup)
    if settings.schedule == "constant":
        return settings.learning_rate * rising
    if settings.schedule == "inverse-root":
        return settings.learning_rate * min(rising, (warmup / step) ** 0.5)
    # In a short run the warm-up is shorter.
    rising = max(rising, min(1.0, progress / LONGEST_WARMUP))
    return settings.learning_rate * min(rising, max(0.0, 1.0 - progress))


def warmup_steps(settings: TrainingSettings, steps: float) -> int:
    """The warm-up of a run of this length: that of the settings, or less in a short run."""
    if settings.schedule != "linear":
        return settings.warmup_steps
    return min(settings.warmup_steps, math.ceil(LONGEST_WARMUP * steps) + 1)
