"""Callbacks: a program's own code that runs during training. Importing this needs no torch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qkv.checkpoint.run_folder import state_folder
from qkv.training.position import Plan, Position
from qkv.training.signals import StopRequest
from qkv.training.watch import ForwardingWatch, Watch


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """What every event of a training run tells."""

    step: int
    """Finished steps."""
    minutes: float
    """Training time so far, including the time before the run was resumed."""
    folder: Path
    """The output folder."""
    _stop: Callable[[], None] = field(repr=False, compare=False)

    def stop(self) -> None:
        """End the run after this step, as if it had reached its limit: the best weights are kept and scored.

        The run can be resumed later.
        """
        self._stop()


@dataclass(frozen=True, kw_only=True)
class StartEvent(RunEvent):
    """The run is about to train. `step` is above 0 if it is resumed.

    Example:
        >>> class Size(qkv.Callback):
        ...     def on_start(self, event: qkv.StartEvent) -> None:
        ...         print(f"{event.parameters:,} parameters, {event.steps} steps")
    """

    steps: int | None
    """The limit on steps."""
    minutes_limit: float | None
    """The limit on minutes."""
    parameters: int
    """Size of the model."""


@dataclass(frozen=True, kw_only=True)
class StepEvent(RunEvent):
    """A step is done. On a GPU, this comes every 25 steps.

    Example:
        >>> class Speed(qkv.Callback):
        ...     def on_step(self, event: qkv.StepEvent) -> None:
        ...         print(event.step, event.loss, event.tokens_per_second)
    """

    loss: float
    """Mean training loss per token since the last line of the log."""
    learning_rate: float
    tokens_per_second: float
    progress: float
    """The share of the run that is done, from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class ValidationEvent(RunEvent):
    """The model was validated. If it is the best so far, the output folder already holds it.

    Example:
        >>> class Best(qkv.Callback):
        ...     def on_validation(self, event: qkv.ValidationEvent) -> None:
        ...         if event.improved:
        ...             print(f"step {event.step}: {event.loss:.3f}")
    """

    loss: float
    """Validation loss per token."""
    improved: bool
    """Is it the lowest so far?"""


@dataclass(frozen=True, kw_only=True)
class SaveEvent(RunEvent):
    """A checkpoint was written. A run that is killed now resumes at this step.

    Example:
        >>> class Saved(qkv.Callback):
        ...     def on_save(self, event: qkv.SaveEvent) -> None:
        ...         print(event.checkpoint)
    """

    checkpoint: Path


@dataclass(frozen=True, kw_only=True)
class EndEvent(RunEvent):
    """The run is over.

    Example:
        >>> class Done(qkv.Callback):
        ...     def on_end(self, event: qkv.EndEvent) -> None:
        ...         print(event.reason, event.minutes)
    """

    reason: str
    """"steps", "minutes", "patience", "callback" or "interruption"."""
    report: Mapping[str, Any] | None
    """The report; None after an interruption."""


class Callback:
    """Your own code during training. Override the methods you need; each receives one event.

    `event.stop()` ends the run early, with its model and its report. If a callback raises an exception, the run is saved
    and the exception goes on to the caller.

    Example:
        >>> class StopAtLoss(qkv.Callback):
        ...     def on_validation(self, event):
        ...         if event.loss < 0.1:
        ...             event.stop()
    """

    def on_start(self, event: StartEvent) -> None:
        """Before the first step."""

    def on_step(self, event: StepEvent) -> None:
        """After a step."""

    def on_validation(self, event: ValidationEvent) -> None:
        """After a validation."""

    def on_save(self, event: SaveEvent) -> None:
        """After a checkpoint was written."""

    def on_end(self, event: EndEvent) -> None:
        """After the report was written, or after an interruption."""


class CallbackWatch(ForwardingWatch):
    """A watch that calls callbacks. An exception of one is kept in `stop`, and no further callback is called."""

    def __init__(self, inner: Watch, callbacks: Sequence[Callback], stop: StopRequest, folder: Path):
        super().__init__(inner)
        self.callbacks, self.stop, self.folder = callbacks, stop, folder

    def call(self, method: str, kind: type[RunEvent], position: Position, **facts: Any) -> None:
        event = kind(
            step=position.step,
            minutes=position.seconds / 60,
            folder=self.folder,
            _stop=self.request_stop,
            **facts,
        )
        try:
            for callback in self.callbacks:
                if self.stop.error is None:
                    getattr(callback, method)(event)
        except BaseException as error:
            self.stop.error = error

    def request_stop(self) -> None:
        self.stop.ends = True

    def on_start(self, plan: Plan, position: Position, parameters: int) -> None:
        super().on_start(plan, position, parameters)
        self.call(
            "on_start",
            StartEvent,
            position,
            steps=plan.steps,
            minutes_limit=plan.minutes,
            parameters=parameters,
        )

    def on_step(
        self, position: Position, progress: float, loss: float, tokens_per_second: float, learning_rate: float
    ) -> None:
        super().on_step(position, progress, loss, tokens_per_second, learning_rate)
        self.call(
            "on_step",
            StepEvent,
            position,
            loss=loss,
            learning_rate=learning_rate,
            tokens_per_second=tokens_per_second,
            progress=progress,
        )

    def on_validation(self, position: Position, loss: float, improved: bool) -> None:
        try:
            super().on_validation(position, loss, improved)
        finally:
            self.call("on_validation", ValidationEvent, position, loss=loss, improved=improved)

    def on_save(self, position: Position) -> None:
        super().on_save(position)
        self.call(
            "on_save",
            SaveEvent,
            position,
            checkpoint=state_folder(self.folder / "training", position.step),
        )

    def on_end(self, position: Position, reason: str, report: Mapping[str, Any] | None) -> None:
        super().on_end(position, reason, report)
        self.call("on_end", EndEvent, position, reason=reason, report=report)
