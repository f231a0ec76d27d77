"""The HTTP server of the explorer's page."""

import asyncio
import ipaddress
import json
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qkv.configs import from_dict
from qkv.errors import QkvError
from qkv.explorer.session import Explorer, TraceQuery
from qkv.listening import url_host

LARGEST_BODY = 64 << 10
MAY_WAIT = 2  # requests, besides the one being computed
MOST_NAMES = 64
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "[::1]"})
Result = TypeVar("Result")
Body = TypeVar("Body")


@dataclass(frozen=True, kw_only=True)
class TraceRequest:
    query: TraceQuery
    names: tuple[str, ...] = ()
    """Arrays to send; without names, the summary with the attention."""
    precision: Literal["float16", "float32"] = "float16"

    def __post_init__(self) -> None:
        if len(self.names) > MOST_NAMES or not all(isinstance(name, str) for name in self.names):
            raise ValueError(f"names must be a list of at most {MOST_NAMES} array names")


@dataclass(frozen=True, kw_only=True)
class EvolveRequest:
    query: TraceQuery
    name: str


class Turns:
    """One request is computed and two may wait; others get status 429."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.inside = 0

    async def take(self, work: Callable[[], Result]) -> Result:
        if self.inside > MAY_WAIT:
            raise HTTPException(429, "the server is busy: try again in a moment.", {"retry-after": "1"})
        self.inside += 1
        try:
            async with self.lock:
                return await run_in_threadpool(work)
        finally:
            self.inside -= 1


class Guard:
    """Adds headers to every response. A local server accepts only local hosts, against DNS rebinding."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None):
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *own]
            await send(message)

        host = Request(scope).headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self.hosts is not None and name.lower() not in self.hosts:
            refusal = failure(
                403, "this server accepts requests from this machine only: open it as localhost."
            )
            await refusal(scope, receive, with_headers)
            return
        await self.app(scope, receive, with_headers)


def application(explorer: Explorer, hosts: frozenset[str] | None = THIS_MACHINE) -> ASGIApp:
    """`hosts` are the accepted host names; None for any."""
    turns = Turns()

    async def info(request: Request) -> Response:
        return JSONResponse(explorer.info())

    async def trace(request: Request) -> Response:
        body = await read(request, TraceRequest)

        def work() -> dict[str, Any]:
            if body.names:
                return explorer.tensors(body.query, body.names, body.precision)
            return explorer.summary(body.query)

        return JSONResponse(await turns.take(work))

    async def evolve(request: Request) -> Response:
        body = await read(request, EvolveRequest)
        return JSONResponse(await turns.take(lambda: explorer.evolve(body.query, body.name)))

    async def truth(request: Request) -> Response:
        return JSONResponse(await turns.take(explorer.truth))

    routes = [
        Route("/api/explore/info", info, methods=["GET"]),
        Route("/api/explore/trace", trace, methods=["POST"]),
        Route("/api/explore/evolve", evolve, methods=["POST"]),
        Route("/api/explore/truth", truth, methods=["GET"]),
        *(Route(path, serve_file(content, kind), methods=["GET"]) for path, content, kind in page_files()),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            QkvError: lambda request, error: failure(422, str(error)),
            HTTPException: http_failure,
            Exception: lambda request, error: failure(500, "internal error: the terminal shows the details."),
        },
    )
    return Guard(app, hosts)  # outermost, because error responses bypass other middleware


def page_files() -> Iterable[tuple[str, bytes, str]]:
    """Address, content and type of every file of the page."""
    for file in resources.files("qkv.explorer").joinpath("page").iterdir():
        kind = TYPES.get(file.name.rsplit(".", 1)[-1])
        if kind is not None:
            address = "/" if file.name == "index.html" else f"/page/{file.name}"
            yield address, file.read_bytes(), kind


def serve_file(content: bytes, kind: str) -> Callable[[Request], Any]:
    async def respond(request: Request) -> Response:
        return Response(content, media_type=kind)

    return respond


async def read(request: Request, kind: type[Body]) -> Body:
    """Parse the request body. Every fault is one short message."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send JSON with the content type application/json.")
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                raise HTTPException(413, f"the request body may have at most {LARGEST_BODY:,} bytes.")
    except ClientDisconnect:
        raise HTTPException(400, "the request ended before it was complete.") from None
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:  # also for invalid UTF-8 and huge numbers
        raise HTTPException(400, f"the request is not JSON ({error}).") from None
    try:
        parsed = from_dict(kind, values, "the request")
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    except QkvError as error:
        raise HTTPException(400, str(error)) from None
    except UnicodeEncodeError:
        raise HTTPException(400, "the text contains half of a character (an unpaired surrogate).") from None
    return parsed


def http_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = failure(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


def failure(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status_code=status)


def accepted_hosts(host: str) -> frozenset[str] | None:
    """Accepted host names of a local address; None for an address that others can reach."""
    if host == "localhost":
        return THIS_MACHINE
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return THIS_MACHINE | {url_host(str(address))} if address.is_loopback else None


def serve(explorer: Explorer, listener: socket.socket, hosts: frozenset[str] | None) -> None:
    new_server(explorer, hosts).run(sockets=[listener])


def new_server(explorer: Explorer, hosts: frozenset[str] | None) -> Any:
    import uvicorn

    config = uvicorn.Config(
        application(explorer, hosts),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)
