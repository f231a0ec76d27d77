"""Progress bars, messages and warnings. All of it goes to standard error."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from qkv.environment import is_helper
from qkv.training.watch import Watch

if TYPE_CHECKING:
    from qkv.training.position import Plan, Position
    from qkv.training.task import Example

LINE_EVERY = 10.0  # seconds between progress lines, if there is no bar
STEP_LINE_EVERY = 30.0  # seconds between progress lines of a training run, which may take hours


class Notices(Console):
    """A console whose write errors do not end the command: a full disk, or a closed pipe."""

    @property
    def quiet(self) -> bool:
        """The level of the package's logger decides, so that `--quiet` needs no console."""
        return self.silenced or logging.getLogger("qkv").level >= logging.ERROR

    @quiet.setter
    def quiet(self, value: bool) -> None:
        self.silenced = value

    @property
    def is_live(self) -> bool:
        """Can lines be replaced? FORCE_COLOR makes rich treat a file as a terminal."""
        return self.is_terminal and self.file.isatty()

    def print(self, *objects: Any, **options: Any) -> None:
        with suppress(OSError):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """In `qkv train … 2>&1 | head` rich would end the program here, before the run is saved."""
        self.quiet = True


err = Notices(stderr=True, highlight=False, quiet=is_helper())


class Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.fields.get("speed", 0.0)
        return Text(f"{speed:,.0f} {task.fields['counted']}/s" if speed else "")


class TrainingDisplay(Watch):
    """A live line with loss, speed and time left, and a permanent line for every validation, with an example.

    `unit` is what the speed counts.
    """

    def __init__(
        self,
        example: Example[Any] | None = None,
        unit: str = "tokens",
        now: Callable[[], float] = time.monotonic,
    ):
        self.example, self.unit, self.now = example, unit, now
        self.printed = now()  # when the last line was
        self.work: tuple[str, Lines] | None = None
        self.product: Any = None
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=max(4, min(24, err.width - 62))),
            TextColumn("step {task.fields[step]:,}  loss {task.fields[loss]}"),
            Speed(),
            TextColumn("{task.fields[left]}"),
        )
        self.live = err.is_live
        self.progress = Progress(*columns, console=err, disable=not self.live)
        self.task = self.progress.add_task("training", total=1.0, step=0, loss="…", left="", counted=unit)

    def watch(self, product: Any) -> Self:
        self.product = product
        return self

    def __enter__(self) -> Self:
        if self.example is not None:
            err.print(f"[dim]{escape_markup(self.example.title)}[/dim]")
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self.progress.stop()

    def on_start(self, plan: Plan, position: Position, parameters: int) -> None:
        if position.step and plan.progress(position) < 1:
            say(f"resuming at step {position.step:,}")

    def on_step(
        self, position: Position, progress: float, loss: float, tokens_per_second: float, learning_rate: float
    ) -> None:
        left = position.seconds * (1 - progress) / max(progress, 1e-9)
        if not self.live:
            self.step_line(
                position, progress, f"loss {loss:.3f}, {tokens_per_second:,.0f} {self.unit}/s", left
            )
        self.progress.update(
            self.task,
            description="training" if progress < 1 else "scoring",
            completed=progress,
            step=position.step,
            loss=f"{loss:.3f}",
            speed=tokens_per_second,
            left=f"{clock(left)} left" if progress < 1 else "",
        )

    def step_line(self, position: Position, progress: float, how: str, left: float) -> None:
        """Without a terminal there is no bar, and the first validation may come after an hour."""
        if progress >= 1 or self.now() - self.printed < STEP_LINE_EVERY:
            return
        self.printed = self.now()
        say(f"step {position.step:>6,}   {position.seconds / 60:4.1f} min   {how}, about {clock(left)} left")

    def on_work(self, what: str, completed: int, total: int) -> None:
        if self.live:
            self.progress.update(
                self.task, description=what, completed=completed / max(1, total), speed=0.0, left=""
            )
            return
        if self.work is None or self.work[0] != what:
            say(what)
            self.work = what, Lines(what, total, completed, self.now)
        self.work[1].advance(completed - self.work[1].completed)

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        self.printed = self.now()
        mark = "  [green]best so far[/green]" if improved else ""
        say_line = self.progress.console.print
        say_line(
            f"step {position.step:>6,}   {position.seconds / 60:4.1f} min   validation loss {loss:.3f}{mark}"
        )
        if self.example is not None and self.product is not None:
            say_line(f"              [dim]{escape_markup(self.example.make(self.product))}[/dim]")

    def warn(self, sentence: str) -> None:
        self.progress.console.print(f"[yellow]warning: {escape_markup(sentence)}[/yellow]")


def escape_markup(text: str) -> str:
    """Text from a model or a file, without markup or control sequences."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else "·" for c in text))


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


class Lines:
    """Progress of a long task: a line every LINE_EVERY seconds at most."""

    def __init__(self, what: str, total: int, before: int, now: Callable[[], float] = time.monotonic):
        self.what, self.total, self.before, self.completed = what, total, before, before
        self.now = now
        self.started = self.printed = now()

    def advance(self, count: int) -> None:
        self.completed += count
        now = self.now()
        if now - self.printed < LINE_EVERY or self.completed >= self.total:
            return
        self.printed = now
        left = (now - self.started) * (self.total - self.completed) / max(1, self.completed - self.before)
        say(f"{self.what}: {self.completed:,} of {self.total:,}, about {clock(left)} left")


@contextmanager
def count_progress(
    what: str, total: int, *, before: int = 0, lines: bool = False
) -> Iterator[Callable[[int], None]]:
    """A progress bar that disappears at the end. Yields a function that advances it by a count.

    `before` items are done already. Without a terminal nothing is shown, or with `lines` a line every few seconds.
    """
    if lines and not err.is_live:
        yield Lines(what, total, before).advance
        return
    columns = (
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,}"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=err, transient=True, disable=not err.is_live)
    with progress:
        task = progress.add_task(what, total=total, completed=before)
        yield lambda count: progress.advance(task, count)


def heat_map(source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]]) -> Text:
    """Attention in the terminal: a row per target word, a column per source word, darker is more."""
    shades = " ░▒▓█"
    margin = max(map(len, target))
    widths = [max(3, len(word)) for word in source]
    lines = [" " * margin + "  " + " ".join(f"{w:<{n}}" for w, n in zip(source, widths, strict=True))]
    for word, row in zip(target, weights, strict=True):
        cells = [
            shades[min(len(shades) - 1, round(weight * (len(shades) - 1)))] * width
            for weight, width in zip(row, widths, strict=True)
        ]
        lines.append(f"{word:>{margin}}  " + " ".join(cells))
    return Text("\n".join(lines))


def say(text: str = "") -> None:
    """Print a line for the user, without markup and without wrapping, since it may hold a command."""
    err.print(text, markup=False, soft_wrap=True)


def warn(sentence: str) -> None:
    """Warn the user; the command continues."""
    err.print(f"[yellow]warning: {escape_markup(sentence)}[/yellow]", soft_wrap=True)
