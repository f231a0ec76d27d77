"""Where an evaluation shows its progress and its warnings: the command line and Python have their own."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

Advance = Callable[[int], None]


def no_progress(_what: str, _total: int) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _count: None)


def ignore(_sentence: str) -> None:
    """Show nothing."""


@dataclass(frozen=True, kw_only=True)
class Display:
    progress: Callable[[str, int], AbstractContextManager[Advance]] = no_progress
    """Takes the name of some work and its amount; yields a function that advances it."""
    warn: Callable[[str], None] = ignore
    say: Callable[[str], None] = ignore


SILENT = Display()
