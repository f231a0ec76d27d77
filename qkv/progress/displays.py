"""The display of a training run: a bar in a terminal, a live line in a notebook, lines elsewhere, or nothing."""

import sys
import warnings
from types import TracebackType
from typing import Any, Protocol, Self

from qkv.environment import is_helper
from qkv.training.task import Example
from qkv.training.watch import Watch


class Display(Protocol):
    def watch(self, product: Any) -> Watch:
        """The watch that shows the run of this product."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def open_display(example: Example[Any] | None, unit: str, *, progress: bool) -> Display:
    if not progress:
        return NoDisplay()
    if in_notebook():
        from qkv.progress.notebook import NotebookDisplay

        return NotebookDisplay(example, unit)
    from qkv.progress.terminal import TrainingDisplay

    return TrainingDisplay(example, unit)


def in_notebook() -> bool:
    """Does this code run in a kernel of Jupyter? IPython in a terminal has no kernel."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


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
