"""One input gives one result, a sequence gives a list, and an iterator gives a lazy iterator, for every model."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from qkv.errors import InputTypeError, ItemError, QkvError
from qkv.runtime.pace import Pace

AT_ONCE = 1_000  # inputs of an iterator that are read ahead, at most

Item = TypeVar("Item")
Result = TypeVar("Result")
Done = Callable[[int], None]


class Column(Protocol):
    """Many inputs of known number: a list, a tuple, an array, a pandas or polars Series, a column of `datasets`."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


@dataclass(frozen=True, kw_only=True)
class Accepts(Generic[Item]):
    """What a method accepts, and how its errors name it."""

    method: str
    argument: str
    """As the plural in messages: texts[3]."""
    what: str
    """In the sentence "translate() expects a text, a list of texts or an iterator of texts"."""
    item: str
    """What each element must be: "str"."""
    is_one: Callable[[Any], bool]
    """Whether this value is one input and not several."""
    read: Callable[[Any], Item | None]
    """An element in the form that the model wants; None if it has the wrong type."""
    at_once: int = AT_ONCE

    def apply(
        self,
        given: Any,
        many: Callable[[list[Item]], Any],
        collect: Callable[[Any], Any] = list,
    ) -> Any:
        """Call `many` with all inputs, or portion by portion for an iterator. `collect` makes the result of a sequence."""
        if self.is_one(given):
            return many(list(self.items([given])))[0]
        if is_several(given):
            return collect(many(list(self.items(given))))
        if is_lazy(given):
            return self.lazily(given, many)
        raise self.wrong_type(given)

    def items(self, given: Iterable[Any]) -> Iterator[Item]:
        """The elements, checked."""
        for number, each in enumerate(given):
            item = self.read(each)
            if item is None:
                raise InputTypeError(
                    f"{self.argument}[{number}] is {name_of_type(each)}; expected {self.item}."
                )
            yield item

    def lazily(
        self, given: Iterable[Any], many: Callable[[list[Item]], Sequence[Result]]
    ) -> Iterator[Result]:
        """If reading an input fails, the results of those before it come first."""
        before = 0
        for portion in Pace(self.at_once).portions(self.items(given)):
            try:
                yield from many(portion)
            except ItemError as error:
                raise error.after(before) from None
            before += len(portion)

    def wrong_type(self, given: Any) -> InputTypeError:
        return InputTypeError(f"{self.method}() expects {self.what}, not {name_of_type(given)}.")


def texts_for(
    method: str, *, argument: str = "texts", one: str = "text", at_once: int = AT_ONCE
) -> Accepts[str]:
    return Accepts(
        method=method,
        argument=argument,
        what=f"a {one}, a list of {one}s or an iterator of {one}s",
        item="str",
        is_one=is_text,
        read=text_or_none,
        at_once=at_once,
    )


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def check_text(method: str, argument: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InputTypeError(f"{method}() expects {argument} as a text, not {name_of_type(value)}.")


def is_several(given: Any) -> bool:
    """A list, an array, a column of a table. A mapping or a set has no order that results could follow."""
    if isinstance(given, str | bytes | bytearray | memoryview | Mapping | Set):
        return False
    return hasattr(given, "__len__") and hasattr(given, "__iter__")


def is_lazy(given: Any) -> bool:
    return hasattr(given, "__iter__") and not hasattr(given, "__len__")


def name_of_type(value: Any) -> str:
    return "None" if value is None else type(value).__name__


class CancelledWorkError(QkvError):
    """The task that waited for this work was cancelled."""


async def in_thread(
    method: Callable[..., Any], *inputs: Any, done: Done | None = None, **options: Any
) -> Any:
    """Call a method of a model in another thread. If the task is cancelled, it ends at its next progress report."""
    import asyncio  # it takes longer to import than a short text to translate
    import threading

    cancelled = threading.Event()

    def report(count: int) -> None:
        if cancelled.is_set():
            raise CancelledWorkError("the task that waited for this result was cancelled.")
        if done is not None:
            done(count)

    try:
        return await asyncio.to_thread(method, *inputs, done=report, **options)
    except asyncio.CancelledError:
        cancelled.set()
        raise
