"""Errors that a user can fix. Messages say what is wrong and what to do."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


class QkvError(Exception):
    """An error that the caller can fix, and the base of all errors of qkv."""


class DataError(QkvError):
    """A file or a folder that cannot be used as it is: missing, damaged, of the wrong format or shape."""


class OptionError(QkvError):
    """Options or settings with values that cannot work.

    The message names them as Python does, `beam_size`; the command line writes `--beam-size`.
    """

    def __init__(self, *faults: tuple[str, str]):
        """Each fault is a pair: comma-separated names of options, and what they must be."""
        self.faults = faults
        super().__init__("; ".join(f"{names} {fault}" for names, fault in faults) + ".")

    def with_flags(self) -> str:
        """The message with flags for names."""
        return "; ".join(f"{as_flags(names)} {fault}" for names, fault in self.faults) + "."


Rule = tuple[str, str, bool]
"""Comma-separated names of options, what they must be, and whether they are."""


def check_rules(rules: Iterable[Rule]) -> None:
    faults = [(names, fault) for names, fault, holds in rules if not holds]
    if faults:
        raise OptionError(*faults)


def as_flags(names: str) -> str:
    return ", ".join(f"--{name.strip().replace('_', '-')}" for name in names.split(","))


class ProcessEndedError(QkvError):
    """Another process of a training run has ended or cannot be reached."""


class InputError(QkvError):
    """An error in one of several inputs: its number from 0, and the rest of the sentence."""

    def __init__(self, number: int, fault: str, kind: str = "text"):
        super().__init__(f"{kind} {number + 1} {fault}")
        self.number, self.fault = number, fault


@contextmanager
def name_inputs(name: Callable[[int], str]) -> Iterator[None]:
    """Replace the number in an InputError by a name, such as a file and line."""
    try:
        yield
    except InputError as error:
        raise QkvError(f"{name(error.number)} {error.fault}") from None
