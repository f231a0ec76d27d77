"""The progress of a training run in a notebook: one cell output, updated in place."""

import html
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from qkv.training.position import Position
from qkv.training.task import Example
from qkv.training.watch import Watch

UPDATE_EVERY = 0.5  # seconds: more would only flicker
LINES_SHOWN = 12  # the last lines about validations


class Lines:
    """Some lines of text, as a notebook shows them."""

    def __init__(self, lines: list[str]):
        self.text = "\n".join(lines)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def show_in_cell(content: Any) -> Any:
    """Show something in the output of this cell. Returns a handle whose `update` replaces it."""
    return sys.modules["IPython.display"].display(content, display_id=True)


class NotebookDisplay(Watch):
    """The last validations, each with an example, and a live line with loss, speed and time left.

    `unit` is what the speed counts.
    """

    def __init__(
        self,
        example: Example[Any] | None = None,
        unit: str = "tokens",
        now: Callable[[], float] = time.monotonic,
    ):
        self.example, self.unit, self.now = example, unit, now
        self.lines: list[str] = [] if example is None else [example.title]
        self.live = "starting"
        self.updated = now()
        self.product: Any = None
        self.handle: Any = None

    def watch(self, product: Any) -> Watch:
        self.product = product
        return self

    def __enter__(self) -> Self:
        self.handle = show_in_cell(self.content())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.live = "" if kind is None else "stopped"
        self.update()

    def content(self) -> Lines:
        return Lines([*self.lines[-LINES_SHOWN:], *filter(None, [self.live])])

    def update(self) -> None:
        self.updated = self.now()
        if self.handle is not None:
            self.handle.update(self.content())

    def on_step(
        self, position: Position, progress: float, loss: float, tokens_per_second: float, learning_rate: float
    ) -> None:
        left = position.seconds * (1 - progress) / max(progress, 1e-9)
        self.live = (
            f"{100 * progress:3.0f} %   step {position.step:,}   loss {loss:.3f}   "
            f"{tokens_per_second:,.0f} {self.unit}/s   {left / 60:.1f} minutes left"
        )
        if self.now() - self.updated >= UPDATE_EVERY:
            self.update()

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        mark = "   best so far" if improved else ""
        self.lines.append(
            f"step {position.step:>6,}   {position.seconds / 60:4.1f} min   validation loss {loss:.3f}{mark}"
        )
        self.update()
        if self.example is not None and self.product is not None:
            self.lines.append(f"              {self.example.make(self.product)}")
            self.update()

    def on_work(self, what: str, completed: int, total: int) -> None:
        self.live = what if total <= 1 else f"{what}: {completed:,} of {total:,}"
        if completed in (0, total) or self.now() - self.updated >= UPDATE_EVERY:
            self.update()

    def warn(self, sentence: str) -> None:
        self.lines.append(f"warning: {sentence}")
        self.update()
