"""Methods of models for asyncio: the work is done in a thread, and other tasks run meanwhile."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from qkv.errors import QkvError
from qkv.runtime.inputs import Done, is_lazy

if TYPE_CHECKING:
    from threading import Event

Result = TypeVar("Result")
Work = Coroutine[Any, Any, Result]
"""What a method for asyncio returns: `await` gives the result."""
END = object()


class CancelledWorkError(QkvError):
    """The task that waited for this work was cancelled."""


def in_thread(method: Callable[..., Any], *inputs: Any, done: Done | None = None, **options: Any) -> Any:
    """Call a method of a model in another thread: a coroutine, or an asynchronous iterator if an input is an iterator.

    If the task that waits is cancelled, the work ends at its next progress report.
    """
    from threading import Event

    cancelled = Event()

    def report(count: int) -> None:
        if cancelled.is_set():
            raise CancelledWorkError("the task that waited for this result was cancelled.")
        if done is not None:
            done(count)

    if any(map(is_lazy, inputs)):
        return each_result(method(*inputs, done=report, **options), cancelled)
    return waiting(cancelled, method, *inputs, done=report, **options)


async def waiting(cancelled: "Event", function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    import asyncio  # it takes longer to import than a short text to translate

    try:
        return await asyncio.to_thread(function, *arguments, **options)
    except asyncio.CancelledError:
        cancelled.set()
        raise


async def each_result(results: Iterator[Any], cancelled: "Event") -> AsyncIterator[Any]:
    """The results of a lazy iterator. It reads its input in other threads, one after another."""
    while (result := await waiting(cancelled, next, results, END)) is not END:
        yield result
