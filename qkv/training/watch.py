"""Watch: receives the progress of a run."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from qkv.training.position import Position


class Watch(Protocol):
    """Receives progress: the terminal or a test."""

    def on_step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None: ...

    def on_validation(self, position: Position, loss: float, improved: bool) -> None: ...

    def warn(self, sentence: str) -> None: ...

    def on_log(self, facts: Mapping[str, Any]) -> None: ...  # a line of the log

    def on_work(self, what: str, completed: int, total: int) -> None: ...  # after the last step: scoring etc.


class SafeWatch:
    """A watch whose own errors, such as output to a full disk, do not stop the run."""

    def __init__(self, inner: Watch):
        self.inner = inner

    def on_step(self, position: Position, progress: float, loss: float, tokens_per_second: float) -> None:
        with suppress(OSError):
            self.inner.on_step(position, progress, loss, tokens_per_second)

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        """The watch may decode an example with a half-trained model, which may fail in any way."""
        try:
            self.inner.on_validation(position, loss, improved)
        except OSError:
            return
        except Exception as error:
            self.warn(
                f"step {position.step}: the example output could not be shown ({type(error).__name__}: {error}). "
                "Training continues."
            )

    def warn(self, sentence: str) -> None:
        with suppress(OSError):
            self.inner.warn(sentence)

    def on_log(self, facts: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self.inner.on_log(facts)

    def on_work(self, what: str, completed: int, total: int) -> None:
        with suppress(OSError):
            self.inner.on_work(what, completed, total)
