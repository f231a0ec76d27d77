"""Progress and warnings for commands that may end in a fraction of a second: rich is imported only if they do not."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

QUIET = 2.0  # seconds without a progress bar


@contextmanager
def count_progress(
    what: str,
    total: int,
    *,
    before: int = 0,
    lines: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[int], None]]:
    """Like `terminal.count_progress`, but nothing is shown in the first two seconds."""
    began, waiting = clock(), 0
    show: Callable[[int], None] | None = None
    with ExitStack() as stack:

        def advance(count: int) -> None:
            nonlocal show, waiting
            waiting += count
            if show is None and clock() - began < QUIET:
                return
            if show is None:
                from qkv.progress import terminal

                show = stack.enter_context(terminal.count_progress(what, total, before=before, lines=lines))
            show(waiting)
            waiting = 0

        yield advance


def warn(sentence: str) -> None:
    """Warn the user; the command continues."""
    from qkv.progress import terminal

    terminal.warn(sentence)
