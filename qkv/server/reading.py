"""The fields of a request, from its query string, JSON, form or multipart body. Everything is bounded."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request

from qkv.server.errors import ApiError, TooLargeError

MOST_FIELDS = 1_000
MOST_FILES = 1
NESTED = re.compile(r"(\w+)\[(\d{1,3})\](?:\.(\w+)|\[(\w+)\])")
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


@dataclass(frozen=True)
class Upload:
    """A file of a multipart request."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Given:
    """What a client sent: fields by name. A field that was sent several times is a list."""

    values: Mapping[str, Any]
    files: Mapping[str, Upload] = field(default_factory=dict)
    is_json: bool = False


async def read_request(request: Request, most: int) -> Given:
    """All fields of a request; those of the body come first. `most` bytes are read.

    Raises:
        ApiError: The request is too large, or it is not what its content type says.
    """
    values: dict[str, Any] = collect(parse_form(request.scope.get("query_string", b"")))
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == MULTIPART:
        form, files = await read_multipart(request, most)
        given = Given({**values, **form}, files)
    else:
        body = await read_body(request, most)
        given = from_body(body, kind, values)
    check_text(given.values)
    return given


def from_body(body: bytes, kind: str, values: dict[str, Any]) -> Given:
    if not body.strip():
        return Given(values, is_json=kind == JSON)
    if kind == JSON or kind.endswith("+json"):
        return Given({**values, **parse_json(body)}, is_json=True)
    if kind == FORM or not kind:
        return Given({**values, **collect(parse_form(body))})
    raise ApiError(415, f"Invalid request: send {JSON}, {FORM} or {MULTIPART}.")


async def read_body(request: Request, most: int) -> bytes:
    """Bytes are counted while they arrive. The header Content-Length is only a hint."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise TooLargeError(most)
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise TooLargeError(most)
            parts.append(part)
    except ClientDisconnect:
        raise ApiError(400, "Invalid request: it ended before it was complete.") from None
    return b"".join(parts)


async def read_multipart(request: Request, most: int) -> tuple[dict[str, Any], dict[str, Upload]]:
    limited = Request(request.scope, Counted(request.receive, most))
    try:
        form = await limited.form(max_files=MOST_FILES, max_fields=MOST_FIELDS, max_part_size=most)
    except TooLargeError:
        raise
    except ClientDisconnect:
        raise ApiError(400, "Invalid request: it ended before it was complete.") from None
    except (MultiPartException, ValueError, KeyError, AssertionError) as error:
        raise ApiError(400, f"Invalid request: the form cannot be read ({str(error)[:100]}).") from None
    except Exception as error:
        if type(error).__name__ != "HTTPException":  # Starlette's, with the reason in `detail`
            raise
        raise ApiError(400, f"Invalid request: the form cannot be read ({error}).") from None
    pairs: list[tuple[str, str]] = []
    files: dict[str, Upload] = {}
    try:
        for name, value in form.multi_items():
            if isinstance(value, str):
                pairs.append((name, value.replace("\r\n", "\n")))
            else:
                files[name] = Upload(value.filename or "", await value.read())
    finally:
        await form.close()
    return collect(pairs), files


class Counted:
    """Receives the messages of a request until its body is too large."""

    def __init__(self, receive: Any, most: int):
        self.receive, self.left, self.most = receive, most, most

    async def __call__(self) -> Any:
        message = await self.receive()
        if message["type"] == "http.request":
            self.left -= len(message.get("body", b""))
            if self.left < 0:
                raise TooLargeError(self.most)
        return message


def parse_json(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:  # also for invalid UTF-8 and very long numbers
        raise ApiError(400, f"Invalid request: the body is not JSON ({str(error)[:100]}).") from None
    if not isinstance(values, dict):
        raise ApiError(400, "Invalid JSON format")
    return values


def parse_form(body: bytes) -> list[tuple[str, str]]:
    """Form fields, with line breaks as in JSON."""
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError as error:
        raise ApiError(400, f"Invalid request: the form cannot be read ({str(error)[:100]}).") from None
    return [(name, value.replace("\r\n", "\n")) for name, value in pairs]


def collect(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Values by name. A field that occurs several times becomes a list; PHP writes its name as text[].

    deepl-node writes a list of objects as dictionaries[0].entries.
    """
    found: dict[str, Any] = {}
    objects: dict[str, dict[int, dict[str, str]]] = {}
    for raw, value in pairs:
        nested = NESTED.fullmatch(raw)
        if nested is not None:
            objects.setdefault(nested[1], {}).setdefault(int(nested[2]), {})[nested[3] or nested[4]] = value
            continue
        name = raw.removesuffix("[]")
        if name in found:
            known = found[name]
            found[name] = [*known, value] if isinstance(known, list) else [known, value]
        else:
            found[name] = [value] if raw != name else value
    return found | {name: [rows[place] for place in sorted(rows)] for name, rows in objects.items()}


def check_text(values: Mapping[str, Any]) -> None:
    """JSON can write half of a surrogate pair, which is no text."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ApiError(
            400, "Invalid request: the text contains half of a character (an unpaired surrogate)."
        ) from None
    except RecursionError:
        raise ApiError(400, "Invalid request: the JSON is nested too deeply.") from None
