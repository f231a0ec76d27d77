"""One input gives one result, a sequence gives a list, and an iterator gives a lazy iterator, for every model."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Generic, Protocol, TypeVar

from qkv.data.python_rows import column_keys, column_values, is_row_data_set
from qkv.errors import InputError, InputTypeError, ItemError, OptionError, type_name
from qkv.runtime.pace import Pace

HALF = "has half a character (a lone surrogate). Correct it."
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
    kind: str = "text"
    """One input in messages that count on the command line: "text 3"."""
    at_once: int = AT_ONCE

    def apply(
        self,
        given: Any,
        many: Callable[[list[Item]], Any],
        collect: Callable[[Any], Any] = list,
    ) -> Any:
        """Call `many` with all inputs, or portion by portion for an iterator. `collect` makes the result of a sequence."""
        if self.is_one(given):
            return self.one(given, many)
        self.reject_table(given)
        if is_several(given):
            try:
                return collect(many(list(self.items(column_values(given, self.argument)))))
            except ItemError as error:
                raise error.after(0, self.argument) from None
        if is_lazy(given):
            return self.lazily(given, many)
        raise self.wrong_type(given)

    def one(self, given: Any, many: Callable[[list[Item]], Any]) -> Any:
        try:
            return many(list(self.items([given])))[0]
        except ItemError as error:
            raise InputError(f"the {error.kind} {error.fault}") from None

    def items(self, given: Iterable[Any]) -> Iterator[Item]:
        """The elements, checked. A note of a foreign error says which element was being read."""
        elements, number = iter(given), -1
        while True:
            number += 1
            try:
                each = next(elements)
            except StopIteration:
                return
            except InputError:  # names the element
                raise
            except Exception as error:
                error.add_note(f"while reading {self.argument}[{number}]")
                raise
            item = self.read(each)
            if item is None:
                raise InputTypeError(f"{self.argument}[{number}] is {type_name(each)}; expected {self.item}.")
            if self.kind != "image" and has_lone_surrogate(item):  # the name of a file may have one
                raise ItemError(number, HALF, self.kind, self.argument)
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
                raise error.after(before, self.argument) from None
            before += len(portion)

    def reject_table(self, given: Any) -> None:
        """A table would be read as the names of its columns, or as rows that are not texts."""
        if not hasattr(given, "__iter__") or isinstance(given, Mapping):
            return
        names = column_keys(given)
        if names is not None:
            first = repr(names[0]) if names else "'text'"
            rows = is_row_data_set(given) and is_lazy(given)
            column = f"(row[{first}] for row in {self.argument})" if rows else f"{self.argument}[{first}]"
            raise InputTypeError(f"{self.argument} is a table; pass one column, such as {column}.")

    def wrong_type(self, given: Any, argument: str | None = None) -> InputTypeError:
        name = argument or self.argument
        return InputTypeError(f"{name} is {type_name(given)}; {self.method}() expects {self.what}.")


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
        kind=one,
        at_once=at_once,
    )


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def text_or_none(value: Any) -> str | None:
    return str(value) if isinstance(value, str) else None  # not a subclass, such as a string of NumPy


def has_lone_surrogate(item: Any) -> bool:
    """Whether a text, or one of several, cannot be written in UTF-8. Tokenizers accept only what can."""
    if not isinstance(item, str):
        return isinstance(item, tuple | list) and any(map(has_lone_surrogate, item))
    try:
        item.encode()
    except UnicodeEncodeError:
        return True
    return False


def check_text(method: str, argument: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InputTypeError(f"{argument} is {type_name(value)}; {method}() expects a text.")
    if has_lone_surrogate(value):
        raise InputError(f"{argument} {HALF}")


def check_count(argument: str, value: Any, most: int) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 1 <= value <= most:
        raise OptionError((argument, f"must be a whole number from 1 to {most:,}, not {value!r:.40}"))


def is_several(given: Any) -> bool:
    """A list, an array, a column of a table. A mapping or a set has no order that results could follow."""
    if isinstance(given, str | bytes | bytearray | memoryview | Mapping | Set):
        return False
    return hasattr(given, "__len__") and hasattr(given, "__iter__")


def is_lazy(given: Any) -> bool:
    return hasattr(given, "__iter__") and not hasattr(given, "__len__")
