"""Frame: what surrounds every request, whatever its route: CORS, trace ids, counting, logging, errors without a route."""

import json
import logging
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qkv.server.errors import ApiError, Style, error_response
from qkv.server.state import State

CORS = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "Authorization, Content-Type",
    "access-control-expose-headers": "Authorization",
    "access-control-allow-methods": "GET, POST",
    "access-control-max-age": "1728000",
}
READS = ("GET", "HEAD", "OPTIONS")
access_log = logging.getLogger("qkv.server.access")


def style_of(path: str) -> Style:
    """How errors are written for a path that may not exist."""
    if path.startswith(("/v2", "/v3")):
        return "deepl"
    if path.startswith("/v1/translate"):
        return "deepl"
    if path.startswith("/v1"):
        return "openai"
    return "tei" if path.startswith("/embed") else "libretranslate"


class Frame:
    def __init__(self, app: ASGIApp, state: State, shared: Callable[[str], bool]):
        """`shared` tells whether pages of other sites may use a path."""
        self.app, self.state, self.shared = app, state, shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        path = scope["path"][len(scope.get("root_path", "")) :]
        extra = self.headers_for(path)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        metrics = self.state.metrics
        metrics.active += 1
        try:
            await self.respond(path, scope, receive, send_with_headers)
        finally:
            metrics.active -= 1
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            method = (
                scope["method"]
                if scope["method"] in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
                else "_OTHER"
            )
            metrics.answered(method, route, status, seconds)
            if self.state.options.log_format != "none":
                self.log(method, route, status, seconds)

    def headers_for(self, path: str) -> list[tuple[bytes, bytes]]:
        headers = {"x-content-type-options": "nosniff"}
        if path.startswith(("/v2", "/v3")):
            headers["x-trace-id"] = secrets.token_hex(16)
        if self.state.options.cors and self.shared(path):
            headers.update(CORS)
        return [(name.encode(), value.encode()) for name, value in headers.items()]

    async def respond(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        shared = self.state.options.cors and self.shared(path)
        if scope["method"] == "OPTIONS" and shared:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        if not shared and scope["method"] not in READS and is_cross_site(scope):
            error = ApiError(403, "pages of other sites cannot use this route.")
            await error_response(style_of(path), error)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def log(self, method: str, route: str, status: int, seconds: float) -> None:
        """One line without anything that identifies a person: no address, key, text or query."""
        values: dict[str, Any] = {
            "method": method,
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 1),
        }
        if self.state.options.log_format == "json":
            access_log.info(json.dumps({"time": round(time.time(), 3), **values}))
        else:
            access_log.info("%s %s %d %.1f ms", *values.values())


def is_cross_site(scope: Scope) -> bool:
    """Whether a browser sent this for a page of another site."""
    headers = dict(scope["headers"])
    if headers.get(b"sec-fetch-site") == b"cross-site":
        return True
    origin = headers.get(b"origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin.decode("latin-1")).netloc != headers.get(b"host", b"").decode("latin-1")
    except ValueError:
        return True
