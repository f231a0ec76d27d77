"""Work that is not translation: text generation and embeddings, in a few threads of their own."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from qkv.server.scheduler import BusyError

Result = TypeVar("Result")
THREADS = 2
MAY_WAIT = 32
"""Requests besides those that run."""
END = object()


class Generators:
    """Runs functions and iterators in threads. Too many at once are an error."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="qkv generator")
        self.inside = 0

    def enter(self) -> None:
        if self.inside >= THREADS + MAY_WAIT:
            raise BusyError(1.0)
        self.inside += 1

    async def run(self, work: Callable[[], Result]) -> Result:
        self.enter()
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, work)
        finally:
            self.inside -= 1

    async def stream(self, parts: Callable[[], Iterator[str]]) -> AsyncIterator[str]:
        """The parts of a text as they are generated. If the caller goes away, generation ends at the next part."""
        self.enter()
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[object] = asyncio.Queue()
        gone = threading.Event()

        def put(item: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                for part in parts():
                    if gone.is_set():
                        return
                    put(part)
                put(END)
            except Exception as error:  # raised again by the request that waits for it
                put(error)

        try:
            self.pool.submit(work)
            while (item := await queue.get()) is not END:
                if isinstance(item, Exception):
                    raise item
                yield str(item)
        finally:
            gone.set()
            self.inside -= 1

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
