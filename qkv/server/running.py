"""Runs a server: binds first, then loads the models, obeys signals, and tells systemd about it."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import uvicorn
from starlette.applications import Starlette

from qkv.errors import QkvError
from qkv.server.app import application
from qkv.server.models import Served
from qkv.server.options import ServeOptions
from qkv.server.protocol import limited
from qkv.server.state import State

SWITCH = 0.001  # seconds: a worker that has finished a batch waits at most this long for the event loop
GRACE = 30  # seconds for requests in progress after SIGTERM
log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """A server that exits with 0 after SIGTERM or SIGINT. SIGHUP loads keys and models again."""

    def __init__(self, state: State, told: Callable[[str], None] = lambda message: None):
        """`told` receives messages for the operator."""
        self.state, self.told = state, told
        self.failure: BaseException | None = None
        app = application(state, lifespan=self.lifespan_of)
        super().__init__(config_of(app, state.options))

    @contextlib.asynccontextmanager
    async def lifespan_of(self, app: Starlette) -> AsyncIterator[None]:
        """The server answers while models are loading, so that /livez and /readyz tell what happens."""
        loading = asyncio.ensure_future(self.load())
        try:
            yield
        finally:
            loading.cancel()
            for task in tuple(self.state.background):
                task.cancel()
            await asyncio.to_thread(self.state.close)

    async def load(self) -> None:
        try:
            await asyncio.to_thread(self.state.load, self.opened)
        except Exception as error:
            self.failure, self.should_exit = error, True
            return
        self.told("ready")
        notify("READY=1")
        await asyncio.to_thread(self.state.prepare_detection)

    def opened(self, served: Served) -> None:
        pairs = ", ".join(f"{source} → {target}" for source, target in served.pairs)
        self.told(f"loaded {served.name}" + (f" ({pairs})" if pairs else ""))

    def reload(self) -> None:
        """In a thread, because requests go on meanwhile. A model that cannot be opened changes nothing."""

        def work() -> None:
            notify("RELOADING=1")
            try:
                self.state.reload()
                self.told("loaded models and keys again")
            except (QkvError, OSError) as error:
                self.told(f"error: {error} The old models and keys stay in use.")
            notify("READY=1")

        threading.Thread(target=work, name="qkv reload", daemon=True).start()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers: dict[int, Any] = {
            signal.SIGINT: self.handle_exit,
            signal.SIGTERM: self.handle_exit,
        }
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = lambda *_: self.reload()
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.state.stopping = True
        notify("STOPPING=1")
        super().handle_exit(sig, frame)

    def run_until_stopped(self, listener: socket.socket) -> None:
        """Serve until a signal. An error of a model is raised here."""
        sys.setswitchinterval(SWITCH)
        self.run(sockets=[listener])
        if self.failure is not None:
            raise self.failure


def config_of(app: Any, options: ServeOptions) -> uvicorn.Config:
    proxies = [each.strip() for each in options.trusted_proxies.split(",") if each.strip()]
    return uvicorn.Config(
        app,
        http=http_protocol(options.client_timeout),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        root_path=options.root_path,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        limit_concurrency=options.max_connections,
        backlog=2048,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=options.tls_certificate,
        ssl_keyfile=options.tls_key and str(options.tls_key),
    )


def http_protocol(client_timeout: float) -> Any:
    """The fast parser with deadlines where it is installed."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        return limited(HttpToolsProtocol, client_timeout)
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        return H11Protocol


def notify(message: str) -> None:
    """Tell systemd (Type=notify), if it started this process."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker:
        speaker.sendto(message.encode(), name)
