"""The one exception that a person sees: a sentence that says what was wrong and what to do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Something the user can put right. The command line prints it and exits with code 2."""


class ProcessEndedError(UserError):
    """Another process of a training run is gone, or was never reached; each that is left says so and ends."""


class InputError(UserError):
    """What is wrong with one of several inputs: its number from 0, and a sentence without its beginning."""

    def __init__(self, number: int, fault: str, kind: str = "text"):
        super().__init__(f"{kind} {number + 1} {fault}")
        self.number, self.fault = number, fault


@contextmanager
def naming(name: Callable[[int], str]) -> Iterator[None]:
    """An input that is complained of is called by where a person finds it."""
    try:
        yield
    except InputError as error:
        raise UserError(f"{name(error.number)} {error.fault}") from None
