"""uvicorn's HTTP protocol with deadlines and limits: a client that sends or reads too slowly is disconnected."""

import asyncio
from typing import Any

MOST_HEADER_BYTES = 64 << 10
SEPARATORS = 4  # bytes of every header: a colon, a space and the end of the line
PROGRESS = 64 << 10  # bytes of a body after which its deadline starts again


def limited(base: Any, seconds: float) -> Any:
    """A subclass of uvicorn's protocol for httptools. A request must arrive, and a response be read, within `seconds`."""

    class LimitedProtocol(base):  # type: ignore[misc]
        deadline: asyncio.TimerHandle | None = None
        header_bytes = 0
        body_bytes = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.start_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            self.stop_deadline()
            super().connection_lost(exc)

        def start_deadline(self) -> None:
            self.stop_deadline()
            self.deadline = self.loop.call_later(seconds, self.give_up)

        def stop_deadline(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

        def give_up(self) -> None:
            self.transport.abort()

        # A response that is not read: asyncio calls these when its buffer is full, and when it is empty again.

        def pause_writing(self) -> None:
            super().pause_writing()
            self.start_deadline()

        def resume_writing(self) -> None:
            super().resume_writing()
            self.stop_deadline()

        # Parser callbacks of httptools

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.header_bytes = self.body_bytes = 0
            self.start_deadline()

        def on_url(self, url: bytes) -> None:
            self.count_header(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self.count_header(len(name) + len(value) + SEPARATORS)
            super().on_header(name, value)

        def on_body(self, body: bytes) -> None:
            self.body_bytes += len(body)
            if self.body_bytes >= PROGRESS:  # a large file may take longer, as long as it arrives
                self.body_bytes = 0
                self.start_deadline()
            super().on_body(body)

        def on_message_complete(self) -> None:
            self.stop_deadline()
            super().on_message_complete()

        def count_header(self, size: int) -> None:
            self.header_bytes += size
            if self.header_bytes > MOST_HEADER_BYTES:
                self.transport.abort()

    return LimitedProtocol
