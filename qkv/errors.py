"""Errors that a user can fix. Messages say what is wrong and what to do, and name things as Python does.

QkvError
  InputError           what was passed to a function; also a ValueError
    InputTypeError     something of the wrong type; also a TypeError
  DataError            a file or a folder of data
  ModelError           a model: damaged, of another family, or not compatible
  OptionError          options with values that cannot work; also a ValueError
  MissingExtraError    a package that is not installed; also an ImportError

A message that names an option writes it in braces, as in "must be a multiple of {heads}". Python shows the name, and the
command line the flag.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


class QkvError(Exception):
    """An error that the caller can fix, and the base of all errors of qkv.

    Example:
        >>> try:
        ...     qkv.load("runs/no-such-model")
        ... except qkv.QkvError as error:
        ...     print(type(error).__name__)
        ModelError
    """

    def with_flags(self) -> str:
        """The message as the command line shows it, with flags for names of options."""
        return str(self)


class InputError(QkvError, ValueError):
    """Something that was passed to a function cannot be used: an empty text, an unknown language, a wrong number of texts.

    Example:
        >>> try:
        ...     qkv.load("runs/bert").fill("no mask here")
        ... except qkv.InputError as error:
        ...     print(error)
        the text has no [MASK]. Write it where a word should be filled in.
    """


class InputTypeError(InputError, TypeError):
    """Something of the wrong type was passed to a function. It names the argument, its place and the expected type.

    Example:
        >>> try:
        ...     qkv.load("runs/en-de").translate(["the cat danced", None])
        ... except TypeError as error:
        ...     print(error)
        texts[1] is None; expected str.
    """


class DataError(QkvError):
    """A file or a folder that cannot be used as it is: missing, damaged, of the wrong format or shape.

    Example:
        >>> try:
        ...     qkv.load("runs/en-de").translate("a cat", glossary="no-such-file.tsv")
        ... except qkv.DataError as error:
        ...     print(error)
        there is no glossary no-such-file.tsv.
    """


class ModelError(QkvError):
    """A model that cannot be used: missing, damaged, of another family, or not compatible with another model.

    Example:
        >>> try:
        ...     qkv.load("runs/gpt", kind=qkv.Translator)
        ... except qkv.ModelError as error:
        ...     print(error)
        runs/gpt holds a LanguageModel, not a Translator.
    """


class OptionError(QkvError, ValueError):
    """Options or settings with values that cannot work.

    The message names them as Python does, `beam_size`; the command line writes `--beam-size`.

    Example:
        >>> try:
        ...     qkv.TranslationOptions(beam_size=0)
        ... except qkv.OptionError as error:
        ...     print(error)
        beam_size must be from 1 to 1,000.
    """

    def __init__(self, *faults: tuple[str, str]):
        """Each fault is a pair: comma-separated names of options, and what they must be."""
        self.faults = faults
        super().__init__(self._written(str))

    def with_flags(self) -> str:
        return self._written(as_flags)

    def _written(self, name_of: Callable[[str], str]) -> str:
        return (
            "; ".join(f"{name_of(names)} {with_names(fault, name_of)}" for names, fault in self.faults) + "."
        )


class MissingExtraError(QkvError, ImportError):
    """A package that is not installed, and the extra of qkv that installs it: `train`, `hub`, `pictures` and so on.

    Args:
        what: What needs the package; the beginning of the sentence.
        package: The package's name.
        extra: The extra that contains it.
        otherwise: Another remedy, if there is one.

    Example:
        >>> print(qkv.MissingExtraError("a plot", package="matplotlib", extra="pictures"))
        a plot needs matplotlib, which is not installed. Install qkv with its extra `pictures`.
    """

    def __init__(self, what: str, *, package: str, extra: str, otherwise: str = ""):
        remedy = f"Install qkv with its extra `{extra}`{otherwise and ', '}{otherwise}."
        self.template = f"{what} needs {package}, which is not installed. {remedy}"
        super().__init__(with_names(self.template, str))
        self.name, self.extra = package, extra

    def with_flags(self) -> str:
        return with_names(self.template, as_flags)


Rule = tuple[str, str, bool]
"""Comma-separated names of options, what they must be, and whether they are."""


def check_rules(rules: Iterable[Rule]) -> None:
    faults = [(names, fault) for names, fault, holds in rules if not holds]
    if faults:
        raise OptionError(*faults)


def with_names(template: str, name_of: Callable[[str], str]) -> str:
    """Replace each name in braces. Other braces stay: a message may quote what the user wrote."""
    return re.sub(r"\{([a-z_]+)\}", lambda found: name_of(found[1]), template)


def as_flags(names: str) -> str:
    """Flags for names of options. A switch may be written as {resume=True}, which is how Python turns it on."""
    each = (name.strip().removesuffix("=True").replace("_", "-") for name in names.split(","))
    return ", ".join(f"--{name}" for name in each)


class ProcessEndedError(QkvError):
    """Another process of a training run has ended or cannot be reached."""


class ItemError(InputError):
    """An error in one of several inputs: its number from 0, and the rest of the sentence.

    The message counts as Python does, `texts[1] is empty.`; the command line writes `text 2 is empty.`
    """

    def __init__(self, number: int, fault: str, kind: str = "text", argument: str | None = None):
        super().__init__(f"{argument or f'{kind}s'}[{number}] {fault}")
        self.number, self.fault, self.kind, self.argument = number, fault, kind, argument

    def after(self, before: int, argument: str | None = None) -> "ItemError":
        """The same error, renumbered: `before` inputs came first."""
        return ItemError(self.number + before, self.fault, self.kind, argument or self.argument)

    def counted(self) -> str:
        """The message as the command line writes it: counted from 1."""
        return f"{self.kind} {self.number + 1} {self.fault}"


def type_name(value: object) -> str:
    """The type of a value, for messages. None and NaN, which mean a missing value, are named as they are."""
    if value is None or (isinstance(value, float) and value != value):
        return str(value)
    return type(value).__name__


@contextmanager
def name_inputs(name: Callable[[int], str]) -> Iterator[None]:
    """Replace the number in an ItemError by a name, such as a file and line."""
    try:
        yield
    except ItemError as error:
        raise InputError(f"{name(error.number)} {error.fault}") from None
