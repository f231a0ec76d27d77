"""The ASGI application: routes from the operations, inside the frame."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from qkv.server.accounts import account_of
from qkv.server.errors import ApiError, error_response
from qkv.server.frame import Frame, style_of
from qkv.server.operations import INTERNAL, Endpoint, Operation
from qkv.server.routes import OPERATIONS
from qkv.server.state import State

log = logging.getLogger(__name__)
Lifespan = Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]


def application(
    state: State, operations: Sequence[Operation] = OPERATIONS, lifespan: Lifespan | None = None
) -> ASGIApp:
    """The application of a server. `lifespan` replaces what happens at the start and at the end."""
    app = Starlette(
        routes=[*routes_of(state, operations)],
        exception_handlers={HTTPException: http_failure, Exception: internal_failure},
        lifespan=lifespan or partial(load_and_close, state),
    )
    app.state.server = state
    shared = {each.path.split("{")[0] for each in operations if each.cors}
    return Frame(app, state, lambda path: path in shared or path.startswith("/download_file/"))


def routes_of(state: State, operations: Sequence[Operation]) -> list[BaseRoute]:
    """One route for each path, so that a wrong method is 405."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for operation in operations:
        endpoint = Endpoint(operation, state, partial(account_of, state))
        by_path.setdefault(operation.path, {})[operation.method] = endpoint
    return [Route(path, dispatch(endpoints), methods=[*endpoints]) for path, endpoints in by_path.items()]


def dispatch(endpoints: dict[str, Endpoint]) -> Callable[[Request], object]:
    async def respond(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await endpoints[method].handle(request)

    return respond


@contextlib.asynccontextmanager
async def load_and_close(state: State, app: Starlette) -> AsyncIterator[None]:
    """Load the models before the first request, for programs that mount the application."""
    if not state.ready:
        await asyncio.to_thread(state.load)
    try:
        yield
    finally:
        for task in tuple(state.background):
            task.cancel()
        await asyncio.to_thread(state.close)


def http_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.scope["path"][len(request.scope.get("root_path", "")) :]
    found = ApiError(error.status_code, error.detail, headers=error.headers)
    return error_response(style_of(path), found)


def internal_failure(request: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    return error_response(style_of(request.scope["path"]), ApiError(500, INTERNAL))
