"""Mean loss, speed and time of a run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Clock:
    """Seconds of training, including those before an interruption."""

    def __init__(self, before: float):
        self.began = time.monotonic() - before

    def seconds(self) -> float:
        return time.monotonic() - self.began


class Mean:
    """The mean loss per token, and the speed, since some time on the run's clock."""

    def __init__(self, since: float = 0.0, total: float = 0.0, tokens: int = 0) -> None:
        self.since, self.total, self.tokens = since, total, tokens

    def facts(self) -> dict[str, Any]:
        return {"total": self.total, "tokens": self.tokens}

    def add(self, loss: float, tokens: int) -> None:
        self.total, self.tokens = self.total + loss * tokens, self.tokens + tokens

    @contextmanager
    def pause(self, clock: Clock) -> Iterator[None]:
        """Leave out the time between steps."""
        began = clock.seconds()
        yield
        self.since += clock.seconds() - began

    def value(self) -> float:
        return self.total / max(1, self.tokens)

    def tokens_per_second(self, now: float) -> float:
        return self.tokens / max(1e-9, now - self.since)
