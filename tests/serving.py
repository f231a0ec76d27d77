"""The explorer's service in a thread of its own, on a port that is free."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from qkv.explorer.service import application
from qkv.explorer.session import Explorer
from qkv.listening import listen


@dataclass(frozen=True)
class Served:
    explorer: Explorer
    port: int


@contextmanager
def served(folder: Path, pictures: Sequence[Path] = ()) -> Iterator[Served]:
    explorer = Explorer(folder, pictures)
    listener = listen("127.0.0.1", 0)
    config = uvicorn.Config(application(explorer), log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Served(explorer, listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
