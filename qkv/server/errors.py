"""Errors of the HTTP interfaces: one exception, and how each interface writes it."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from starlette.responses import JSONResponse, Response

Style = Literal["libretranslate", "deepl", "openai", "tei"]


class ApiError(Exception):
    """A request that cannot be answered. The status says whose fault it is."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        detail: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(message)
        self.status, self.message, self.detail, self.param = status, message, detail, param
        self.headers = dict(headers or {})


class TooLargeError(ApiError):
    def __init__(self, most: int):
        super().__init__(413, f"Invalid request: the request may have at most {most:,} bytes.")


def busy(seconds: float, status: int = 429) -> ApiError:
    wait = str(max(1, math.ceil(seconds)))
    return ApiError(status, f"The server is busy. Try again in {wait} s.", headers={"retry-after": wait})


OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
TEI_TYPES = {413: "Validation", 422: "Tokenizer", 424: "Backend", 429: "Overloaded"}


def error_response(style: Style, error: ApiError) -> Response:
    return JSONResponse(error_body(style, error), status_code=error.status, headers=error.headers)


def error_body(style: Style, error: ApiError) -> dict[str, Any]:
    if style == "deepl":
        body = {"message": error.message}
        return {**body, "detail": error.detail} if error.detail else body
    if style == "openai":
        kind = OPENAI_TYPES.get(
            error.status, "invalid_request_error" if error.status < 500 else "server_error"
        )
        return {"error": {"message": error.message, "type": kind, "param": error.param, "code": None}}
    if style == "tei":
        return {"error": error.message, "error_type": TEI_TYPES.get(error.status, "Validation")}
    return {"error": error.message}
