"""Operation: a route of the server with the fields that it takes and gives. Routes and OpenAPI are made from these."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from qkv.errors import QkvError
from qkv.server.errors import ApiError, Style, busy, error_response
from qkv.server.keys import Account
from qkv.server.models import Models
from qkv.server.reading import Given, read_request
from qkv.server.scheduler import BusyError
from qkv.server.schema import FieldError, read_fields
from qkv.server.state import State

INTERNAL = "internal error: the log of the server has the details."
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """One request to an operation."""

    state: State
    request: Request
    models: Models
    """As they were when the request came. They stay usable if new ones replace them meanwhile."""
    fields: Any
    """An instance of the operation's fields."""
    given: Given
    account: Account | None = None

    @property
    def client(self) -> str:
        return self.request.client.host if self.request.client else ""

    @property
    def path(self) -> Mapping[str, Any]:
        return self.request.path_params

    def check_rate(self, texts: int, characters: int) -> None:
        self.state.check_rate(self.client, self.account, texts, characters)


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Operation:
    path: str
    method: str
    summary: str
    style: Style
    run: Handler
    fields: Any = None
    """Dataclass of the request's fields."""
    answer: Any = None
    """Type of the answer: a dataclass, or a media type if it is no JSON."""
    status: int = 200
    files: bool = False
    """Takes a file in the field `file`; the body may be as large as files."""
    large: bool = False
    """Takes more than the usual request, such as a glossary."""
    needs_key: bool = True
    needs_models: bool = True
    slow: bool = False
    """May take longer than the time limit of requests."""
    cors: bool = False
    """Pages of other sites may use it."""
    documented: bool = True
    errors: tuple[int, ...] = field(default=(400, 403, 413, 429, 503))


class Endpoint:
    """Runs an operation: checks the key, reads the fields, and turns every error into the answer of its interface."""

    def __init__(self, operation: Operation, state: State, account_of: "AccountOf"):
        self.operation, self.state, self.account_of = operation, state, account_of

    async def handle(self, request: Request) -> Response:
        try:
            return await self.answer(request)
        except ApiError as error:
            if error.status == 429:
                self.state.metrics.rejected += 1
            return error_response(self.operation.style, error)

    async def answer(self, request: Request) -> Response:
        operation, state = self.operation, self.state
        if operation.needs_models and not state.ready:
            raise busy(1, 503)
        large = operation.files or operation.large
        most = state.options.max_file + (64 << 10) if large else state.options.max_body
        given = await read_request(request, most)
        account = self.account_of(operation, request, given) if operation.needs_key else None
        fields = given if operation.fields is None else self.read(operation.fields, given)
        call = Call(state, request, state.models, fields, given, account)
        work = self.guarded(operation.run(call))
        if operation.slow:
            return await until_disconnect(request, work)
        try:
            async with asyncio.timeout(state.options.timeout):
                return await until_disconnect(request, work)
        except TimeoutError:
            raise busy(state.options.timeout, 503) from None

    def read(self, kind: Any, given: Given) -> Any:
        try:
            return read_fields(kind, given.values)
        except FieldError as error:
            raise field_error(self.operation.style, error) from None

    async def guarded(self, work: Awaitable[Response]) -> Response:
        try:
            return await work
        except (ApiError, asyncio.CancelledError):
            raise
        except FieldError as error:
            raise field_error(self.operation.style, error) from None
        except BusyError as error:
            raise busy(error.seconds) from None
        except QkvError as error:
            raise ApiError(400, str(error)) from None
        except Exception as error:
            log.exception("%s failed", self.operation.path)
            raise ApiError(500, INTERNAL) from error


AccountOf = Callable[[Operation, Request, Given], Account | None]


async def until_disconnect(request: Request, work: Awaitable[Response]) -> Response:
    """Run work. If the client goes away, the work is cancelled: most clients try again, and load would multiply."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(disconnected(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            raise ApiError(499, "the client has gone.")
        return task.result()
    finally:
        gone.cancel()
        task.cancel()


async def disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def field_error(style: Style, error: FieldError) -> ApiError:
    """A field that is missing or wrong, in the words of each interface."""
    if style == "libretranslate":
        if error.missing:
            return ApiError(400, f"Invalid request: missing {error.name} parameter")
        return ApiError(400, f"Invalid request: {error.name} parameter {error.problem}")
    if style == "deepl":
        if error.missing:
            return ApiError(400, f"Parameter '{error.name}' not specified")
        return ApiError(400, f"Value for '{error.name}' not supported.")
    status = 422 if style == "tei" else 400
    return ApiError(status, f"'{error.name}' {error.problem}.", param=error.name)
