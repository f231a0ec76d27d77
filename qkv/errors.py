"""The one exception that a person sees: a sentence that says what was wrong and what to do."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Something the user can put right. The command line prints it and exits with code 2."""


class OptionError(UserError):
    """Options or settings with values that cannot work.

    The message names them as Python does, `beam_size`; the command line writes `--beam-size`.
    """

    def __init__(self, *faults: tuple[str, str]):
        """Each fault is the names of the options concerned, separated by commas, and what they must be."""
        self.faults = faults
        super().__init__("; ".join(f"{names} {fault}" for names, fault in faults) + ".")

    def with_flags(self) -> str:
        """The message with the names of the command line."""
        return "; ".join(f"{as_flags(names)} {fault}" for names, fault in self.faults) + "."


Rule = tuple[str, str, bool]
"""Names of options, separated by commas, what they must be, and whether they are."""


def check_rules(rules: Iterable[Rule]) -> None:
    faults = [(names, fault) for names, fault, holds in rules if not holds]
    if faults:
        raise OptionError(*faults)


def as_flags(names: str) -> str:
    return ", ".join(f"--{name.strip().replace('_', '-')}" for name in names.split(","))


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
