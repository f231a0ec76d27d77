"""Watch: receives the progress of a run."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from qkv.training.position import Plan, Position


class Watch:
    """Receives progress: the terminal, a log file, callbacks or a test. Each method does nothing unless it is overridden."""

    def on_start(self, plan: Plan, position: Position, parameters: int) -> None:
        """Before the first step, also of a run that is resumed. `parameters` is the size of the model."""

    def on_step(
        self, position: Position, progress: float, loss: float, tokens_per_second: float, learning_rate: float
    ) -> None: ...

    def on_validation(self, position: Position, loss: float, improved: bool) -> None: ...

    def on_save(self, position: Position) -> None:
        """After a checkpoint was written."""

    def on_end(self, position: Position, reason: str, report: Mapping[str, Any] | None) -> None:
        """After everything else. There is no report if the run was interrupted."""

    def warn(self, sentence: str) -> None: ...

    def on_log(self, facts: Mapping[str, Any]) -> None:
        """A line of the log."""

    def on_work(self, what: str, completed: int, total: int) -> None:
        """After the last step: scoring and the like."""


class ForwardingWatch(Watch):
    """Passes everything to another watch. Subclasses add to some of it."""

    def __init__(self, inner: Watch):
        self.inner = inner

    def on_start(self, plan: Plan, position: Position, parameters: int) -> None:
        self.inner.on_start(plan, position, parameters)

    def on_step(
        self, position: Position, progress: float, loss: float, tokens_per_second: float, learning_rate: float
    ) -> None:
        self.inner.on_step(position, progress, loss, tokens_per_second, learning_rate)

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        self.inner.on_validation(position, loss, improved)

    def on_save(self, position: Position) -> None:
        self.inner.on_save(position)

    def on_end(self, position: Position, reason: str, report: Mapping[str, Any] | None) -> None:
        self.inner.on_end(position, reason, report)

    def warn(self, sentence: str) -> None:
        self.inner.warn(sentence)

    def on_log(self, facts: Mapping[str, Any]) -> None:
        self.inner.on_log(facts)

    def on_work(self, what: str, completed: int, total: int) -> None:
        self.inner.on_work(what, completed, total)


class SafeWatch(ForwardingWatch):
    """A watch whose own errors, such as output to a full disk, do not stop the run."""

    def on_start(self, plan: Plan, position: Position, parameters: int) -> None:
        with suppress(OSError):
            super().on_start(plan, position, parameters)

    def on_step(
        self, position: Position, progress: float, loss: float, tokens_per_second: float, learning_rate: float
    ) -> None:
        with suppress(OSError):
            super().on_step(position, progress, loss, tokens_per_second, learning_rate)

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        """The watch may decode an example with a half-trained model, which may fail in any way."""
        try:
            super().on_validation(position, loss, improved)
        except OSError:
            return
        except Exception as error:
            self.warn(
                f"step {position.step}: the example output could not be shown ({type(error).__name__}: {error}). "
                "Training continues."
            )

    def on_save(self, position: Position) -> None:
        with suppress(OSError):
            super().on_save(position)

    def on_end(self, position: Position, reason: str, report: Mapping[str, Any] | None) -> None:
        with suppress(OSError):
            super().on_end(position, reason, report)

    def warn(self, sentence: str) -> None:
        with suppress(OSError):
            super().warn(sentence)

    def on_log(self, facts: Mapping[str, Any]) -> None:
        with suppress(OSError):
            super().on_log(facts)

    def on_work(self, what: str, completed: int, total: int) -> None:
        with suppress(OSError):
            super().on_work(what, completed, total)
