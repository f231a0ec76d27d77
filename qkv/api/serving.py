"""serve: models behind HTTP interfaces that existing clients know."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, Unpack

from qkv.errors import MissingExtraError
from qkv.listening import listen, url_host
from qkv.runtime.running import DEFAULT_RUNNING, Running
from qkv.server.options import DEFAULTS, ServeOptions
from qkv.signatures import split_options, with_options

if TYPE_CHECKING:
    import socket
    from types import ModuleType

    from starlette.types import ASGIApp

    from qkv.keywords import ServeKeywords
    from qkv.server.state import State


class Service:
    """A running server, from `qkv.serve`. `close()` or the end of a `with` block stops it.

    Example:
        >>> with qkv.serve("runs/en-de", port=0) as service:
        ...     print(service.address.startswith("http://localhost:"))
        True
    """

    def __init__(self, state: State, options: ServeOptions):
        module = web_module("running")
        listener = listen(options.host, options.port)
        self.address: str | None = address_of(options, listener)
        """Where it listens, while it runs."""
        self._server = module.Server(state)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="qkv server", daemon=True
        )
        self._thread.start()
        while self._thread.is_alive() and not (state.ready or self._server.failure):
            time.sleep(0.01)
        if self._server.failure is not None:
            self.close()
            raise self._server.failure

    def wait(self) -> None:
        """Wait until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Finish the requests in progress, and stop."""
        self._server.should_exit = True
        self._thread.join(60)
        self.address = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Service at {self.address}>" if self.address else "<Service, closed>"


@with_options(ServeOptions, Running)
def serve(*models: Any, **options: Unpack[ServeKeywords]) -> Service:
    """Serve models over HTTP, as `qkv serve` does, in a thread. The call returns when the models are loaded.

    Args:
        models: Folders of models, language pairs such as "en-de", or models from `qkv.load`: translators, language models, BERTs.

    Returns:
        The running server. In a script, `qkv.serve(model).wait()` keeps it open until Ctrl-C.

    Raises:
        ModelError: A model cannot be opened.
        MissingExtraError: starlette or uvicorn is not installed.

    Example:
        >>> import json, urllib.request
        >>> with qkv.serve("runs/en-de", port=0) as service:
        ...     answer = json.load(urllib.request.urlopen(service.address + "health"))
        >>> answer
        {'status': 'ok'}
    """
    chosen, running = split_options(options, DEFAULTS, DEFAULT_RUNNING)
    return Service(web_module("state").State(chosen, found(models), running), chosen)


@with_options(ServeOptions, Running)
def serve_app(*models: Any, **options: Unpack[ServeKeywords]) -> ASGIApp:
    """The same as an ASGI application, for other servers and for mounting. Models are loaded at its startup.

    Args:
        models: Folders of models, language pairs, or models from `qkv.load`.

    Returns:
        An ASGI application.

    Example:
        >>> callable(qkv.serve_app("runs/en-de"))
        True
    """
    chosen, running = split_options(options, DEFAULTS, DEFAULT_RUNNING)
    app: ASGIApp = web_module("app").application(web_module("state").State(chosen, found(models), running))
    return app


def found(models: Iterable[Any]) -> list[Any]:
    """The same with folders for language pairs."""
    from qkv.api.published import located

    return [str(located(each)) if isinstance(each, str) else each for each in models]


def web_module(name: str) -> ModuleType:
    """A module of the server, which needs packages of an extra."""
    import importlib

    try:
        return importlib.import_module(f"qkv.server.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("qkv"):
            raise
        raise MissingExtraError("the server", package=error.name or "starlette", extra="serve") from None


def address_of(options: ServeOptions, listener: socket.socket) -> str:
    scheme = "https" if options.tls_certificate is not None else "http"
    return f"{scheme}://{url_host(options.host)}:{listener.getsockname()[1]}{options.root_path}/"
