"""Download one file over HTTP: resumed after interruptions, bounded, verified, and complete or absent.

NAME.part holds what has arrived, and NAME.part.json which version of the file it belongs to.
"""

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from qkv.checkpoint.files import file_hash, make_folders, sync_folder
from qkv.errors import ModelError

BLOCK = 1 << 18  # bytes
LARGEST = 8 << 30  # bytes of a file whose size is not known
LONGEST_LENGTH = 20  # digits of Content-Length
TIMEOUT = 60.0  # seconds without a byte
TRIES = 3  # in a row that bring nothing
REDIRECTS = 5
Arrived = Callable[[int], None]
"""Takes the number of bytes that arrived."""
Progress = Callable[[str, int, int], AbstractContextManager[Arrived]]
"""Takes the name of the file, its size (0 if it is unknown), and how many bytes of it are there already."""


def silent(_name: str, _size: int, _before: int) -> AbstractContextManager[Arrived]:
    return nullcontext(lambda _count: None)


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A file on a server, and what is known about it."""

    address: str
    hosts: frozenset[str]
    """Hosts that redirects may lead to, with their ports if they are unusual."""
    scheme: str = "https"
    """The only one that redirects may have."""
    size: int | None = None
    sha256: str = ""


class UnreachableError(ModelError):
    """The server or the network does not answer, so another place may help."""


class BrokenOffError(Exception):
    """The connection ended too early; what arrived is kept."""


def download(remote: Remote, target: Path, progress: Progress = silent) -> str:
    """Download a file, or complete what an earlier call began. Returns its sha256."""
    make_folders(target.parent)
    part = target.with_name(f"{target.name}.part")
    resumed = part.exists()
    complete(remote, part, progress)
    found = file_hash(part)
    if remote.sha256 and found != remote.sha256 and resumed:
        discard(part)  # what was there may have been damaged
        complete(remote, part, progress)
        found = file_hash(part)
    if remote.sha256 and found != remote.sha256:
        discard(part)
        raise ModelError(
            f"{remote.address} is damaged or was changed: its sha256 is {found} instead of {remote.sha256}. It was deleted. "
            "Download it again later, or take another model."
        )
    os.replace(part, target)
    note_of(part).unlink(missing_ok=True)
    sync_folder(target.parent)
    return found


def complete(remote: Remote, part: Path, progress: Progress) -> None:
    """Connect again after an interruption, as long as that brings more bytes."""
    tries = 0
    while tries < TRIES:
        before = size_of(part)
        try:
            receive(remote, part, progress)
        except BrokenOffError as error:
            tries = 0 if size_of(part) > before else tries + 1
            reason = str(error)
        else:
            return
    raise ModelError(
        f"the download of {remote.address} was interrupted ({reason}). {size_of(part):,} bytes are kept: start it again to "
        "complete it."
    )


def receive(remote: Remote, part: Path, progress: Progress) -> None:
    """Append what is missing."""
    known = size_of(part)
    if remote.size is not None and known == remote.size:
        return
    headers = headers_for(remote, part, known)
    with connect(remote, part, headers) as response:
        start = start_of(response, known)
        expected = expected_size(response, start)
        check_expected(remote, expected)
        if start == 0:
            discard(part)
        write_note(part, response)
        shown = progress(part.name.removesuffix(".part"), expected or 0, start)
        with open(part, "ab") as file, shown as arrived:
            copy(response, file, (remote.size or expected or LARGEST) - start, arrived, remote)
    if expected is not None and size_of(part) < expected:
        raise BrokenOffError(f"it ended after {size_of(part):,} of {expected:,} bytes")


def connect(remote: Remote, part: Path, headers: dict[str, str]) -> Any:
    request = urllib.request.Request(remote.address, headers=headers)
    try:
        return urllib.request.build_opener(SamePublisher(remote)).open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and part.exists():
            discard(part)
            raise BrokenOffError("the file has become shorter") from None
        raise UnreachableError(
            f"{remote.address} cannot be downloaded: the server answers {error.code} ({error.reason})."
        ) from None
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(
            f"{remote.address} cannot be reached ({getattr(error, 'reason', error)})."
        ) from None


def copy(response: Any, file: IO[bytes], limit: int, arrived: Arrived, remote: Remote) -> None:
    while block := read_block(response):
        limit -= len(block)
        if limit < 0:
            raise ModelError(f"{remote.address} sends more bytes than it should. The download was stopped.")
        file.write(block)
        arrived(len(block))


def read_block(response: Any) -> bytes:
    try:
        block: bytes = response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise BrokenOffError(str(error) or type(error).__name__) from None
    return block


def headers_for(remote: Remote, part: Path, known: int) -> dict[str, str]:
    """A range for what is missing, if the result can be checked: by the version of the part, or by the hash."""
    headers = {"User-Agent": "qkv", "Accept-Encoding": "identity"}
    version = read_version(part)
    if known and (version or remote.sha256):
        headers["Range"] = f"bytes={known}-"
        if version:
            headers["If-Range"] = version
    return headers


def start_of(response: Any, known: int) -> int:
    """The first byte of the response; 0 if the server sends all of the file, because it changed or knows no ranges."""
    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
        return 0
    first = str(response.headers.get("Content-Range", "")).removeprefix("bytes ").split("-")[0]
    if first != str(known):
        raise BrokenOffError("the server sent another part of the file")
    return known


def expected_size(response: Any, start: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return start + int(length) if length.isdecimal() and len(length) < LONGEST_LENGTH else None


def check_expected(remote: Remote, expected: int | None) -> None:
    if remote.size is not None and expected is not None and expected != remote.size:
        raise ModelError(
            f"{remote.address} has {expected:,} bytes instead of {remote.size:,}: it was changed. It was not downloaded."
        )
    if expected is not None and expected > LARGEST:
        raise ModelError(
            f"{remote.address} has {expected:,} bytes, more than a model needs. It was not downloaded."
        )


def write_note(part: Path, response: Any) -> None:
    """The version for the next request. A weak ETag says nothing about bytes."""
    etag = response.headers.get("ETag", "")
    version = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
    note_of(part).write_text(json.dumps({"version": version} if version else {}), encoding="utf-8")


def read_version(part: Path) -> str:
    with suppress(OSError, ValueError, AttributeError):
        version = json.loads(note_of(part).read_text(encoding="utf-8")).get("version")
        return version if isinstance(version, str) and version.isprintable() else ""
    return ""


def note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    note_of(part).unlink(missing_ok=True)


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


# Redirects -------------------------------------------------------------------------------------------


class SamePublisher(urllib.request.HTTPRedirectHandler):
    """Follows redirects to the hosts of the publisher."""

    max_redirections = REDIRECTS

    def __init__(self, remote: Remote):
        self.remote = remote

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        place = urlsplit(newurl)
        if place.scheme != self.remote.scheme or place.netloc not in self.remote.hosts:
            raise ModelError(
                f"{self.remote.address} leads to {place.scheme}://{place.netloc}, which is not of this publisher. Nothing was "
                "downloaded."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)
