"""The web page: its files, and what it has to know about this server. Everything else it does with the public API."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from starlette.responses import JSONResponse, Response

from qkv import __version__
from qkv.server.operations import Call, Handler, Operation

STYLE: Any = "libretranslate"
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    version: str
    explorer: str
    """Address of the explorer; empty if there is none."""
    explored: tuple[tuple[str, str], ...]
    """The language pairs that the explorer shows."""
    max_file: int
    """Bytes of a file."""


async def settings(call: Call) -> Response:
    options, models = call.state.options, call.models
    translators = [each for each in models.served if each.pairs]
    explored = [*translators[0].pairs] if options.explorer and translators else []
    return JSONResponse(
        {
            "version": __version__,
            "explorer": options.explorer,
            "explored": explored,
            "max_file": options.max_file,
        }
    )


def page_files() -> Iterable[tuple[str, bytes, str]]:
    """Address, content and type of every file of the page."""
    for file in sorted(resources.files("qkv.server").joinpath("page").iterdir(), key=lambda each: each.name):
        kind = TYPES.get(file.name.rsplit(".", 1)[-1])
        if kind is not None:
            address = "/" if file.name == "index.html" else f"/page/{file.name}"
            yield address, file.read_bytes(), kind


def serve_file(content: bytes, kind: str) -> Handler:
    headers = {**HEADERS, "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}

    async def respond(call: Call) -> Response:
        if call.request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return respond


def operation(path: str, run: Callable[[Call], Any], **more: Any) -> Operation:
    return Operation(path=path, method="GET", style=STYLE, run=run, needs_key=False, **more)


OPERATIONS = (
    *(
        operation(path, serve_file(content, kind), summary="The page.", needs_models=False, documented=False)
        for path, content, kind in page_files()
    ),
    operation(
        "/page/settings", settings, summary="What the page knows about this server.", answer=PageSettings
    ),
)
