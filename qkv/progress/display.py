"""The displays of evaluations: one for commands, one for functions that are called in Python."""

import sys
import warnings
from functools import partial

from qkv.evaluation.display import Display, ignore, no_progress


def command_display() -> Display:
    from qkv.progress.terminal import count_progress, say, warn

    return Display(progress=partial(count_progress, lines=True), warn=warn, say=say)


def python_display(progress: bool) -> Display:
    """Progress of work that takes longer than two seconds, and Python's own warnings."""
    from qkv.progress.delayed import count_progress

    if not progress:
        return Display(progress=no_progress, warn=warn_caller, say=ignore)
    return Display(progress=partial(count_progress, lines=True), warn=warn_caller, say=say)


def say(sentence: str) -> None:
    from qkv.progress import terminal

    terminal.say(sentence)


def warn_caller(sentence: str) -> None:
    """A warning that points to the line which called qkv."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "qkv":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, RuntimeWarning, stacklevel=level)
