"""The display of a training run: a bar in a terminal, a live line in a notebook, lines elsewhere, or nothing."""

import warnings
from types import TracebackType
from typing import Any, Protocol, Self

from qkv.environment import in_notebook, is_helper
from qkv.training.task import Example
from qkv.training.watch import Watch


class RunDisplay(Protocol):
    def watch(self, product: Any) -> Watch:
        """The watch that shows the run of this product."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def open_display(example: Example[Any] | None, unit: str, *, progress: bool) -> RunDisplay:
    if not progress:
        return NoDisplay()
    if in_notebook():
        from qkv.progress.notebook import NotebookDisplay

        return NotebookDisplay(example, unit)
    from qkv.progress.terminal import TrainingDisplay

    return TrainingDisplay(example, unit)


class NoDisplay(Watch):
    """Shows nothing. Warnings become Python's."""

    def watch(self, product: Any) -> Watch:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def warn(self, sentence: str) -> None:
        if not is_helper():
            warnings.warn(sentence, stacklevel=2)
