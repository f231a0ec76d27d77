"""Routes for operators: health, readiness, metrics, and the description of the API."""

import asyncio
import hmac
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from starlette.responses import HTMLResponse, JSONResponse, Response

from qkv.server.errors import ApiError
from qkv.server.metrics import MEDIA_TYPE
from qkv.server.operations import Call, Operation
from qkv.server.state import State

STYLE: Any = "libretranslate"
PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, kw_only=True)
class Health:
    status: Literal["ok"]


async def health(call: Call) -> Response:
    return JSONResponse({"status": "ok"})


async def ready(call: Call) -> Response:
    """Ready while models are loaded and the server is not stopping."""
    if call.state.stopping or not call.state.ready:
        raise ApiError(503, "not ready", headers={"retry-after": "1"})
    return JSONResponse({"status": "ok"})


async def metrics(call: Call) -> Response:
    options = call.state.options
    if not options.metrics:
        raise ApiError(404, "Not Found")
    if options.metrics_token:
        scheme, _, token = call.request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.encode(), options.metrics_token.encode()
        ):
            raise ApiError(401, "Unauthorized", headers={"www-authenticate": "Bearer"})
    return Response(call.state.metrics.write(gauges(call.state)), media_type=MEDIA_TYPE)


def gauges(state: State) -> dict[str, tuple[str, str, float]]:
    scheduler, cache = state.scheduler, state.cache
    counts = scheduler.counts
    return {
        "qkv_queue_tokens": ("gauge", "Tokens that wait for a worker.", scheduler.queued),
        "qkv_queue_requests": ("gauge", "Requests with unfinished segments.", len(scheduler.jobs)),
        "qkv_running_batches": ("gauge", "Batches that are being translated.", scheduler.running),
        "qkv_batches_total": ("counter", "Batches translated.", counts.batches),
        "qkv_batch_rows_total": ("counter", "Segments translated.", counts.rows),
        "qkv_tokens_total": ("counter", "Source tokens translated.", counts.tokens),
        "qkv_batch_seconds_total": ("counter", "Time that workers spent on batches.", counts.seconds),
        "qkv_cancelled_segments_total": ("counter", "Segments whose client had gone.", counts.cancelled),
        "qkv_cache_hits_total": ("counter", "Segments found in the cache.", cache.hits),
        "qkv_cache_misses_total": ("counter", "Segments not found in the cache.", cache.misses),
        "qkv_cache_bytes": ("gauge", "Size of the cache.", cache.size),
        "qkv_models": ("gauge", "Models that are served.", len(state.models.served)),
        "process_resident_memory_bytes": ("gauge", "Resident memory.", resident_bytes()),
    }


def resident_bytes() -> int:
    """Memory of this process; 0 where /proc does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


@lru_cache(maxsize=1)
def description() -> dict[str, Any]:
    from qkv.server.openapi import describe
    from qkv.server.routes import OPERATIONS

    return describe(OPERATIONS)


async def openapi(call: Call) -> Response:
    prefix = call.request.scope.get("root_path", "")
    found = await asyncio.to_thread(description)  # it reads the source files once
    return JSONResponse({**found, **({"servers": [{"url": prefix}]} if prefix else {})})


async def docs(call: Call) -> Response:
    from qkv.server.openapi import page

    found = await asyncio.to_thread(description)
    return HTMLResponse(page(found), headers={"content-security-policy": PAGE_POLICY})


OPERATIONS = (
    Operation(path="/health", method="GET", summary="Whether the server answers.", style=STYLE, run=health, answer=Health, needs_key=False, needs_models=False, cors=True),
    Operation(path="/livez", method="GET", summary="Whether the process is alive.", style=STYLE, run=health, answer=Health, needs_key=False, needs_models=False),
    Operation(path="/readyz", method="GET", summary="Whether models are loaded.", style=STYLE, run=ready, answer=Health, needs_key=False, needs_models=False),
    Operation(path="/metrics", method="GET", summary="Counts for Prometheus.", style=STYLE, run=metrics, answer="text/plain", needs_key=False, needs_models=False, errors=(400, 401, 404, 413)),
    Operation(path="/openapi.json", method="GET", summary="This description.", style=STYLE, run=openapi, answer=dict[str, Any], needs_key=False, needs_models=False, cors=True),
    Operation(path="/spec", method="GET", summary="This description, at LibreTranslate's address.", style=STYLE, run=openapi, answer=dict[str, Any], needs_key=False, needs_models=False, cors=True),
    Operation(path="/docs", method="GET", summary="This description for people.", style=STYLE, run=docs, answer="text/html", needs_key=False, needs_models=False),
)  # fmt: skip
