"""A stand-in for the server of a publisher: it can break off, ignore ranges, redirect, or send something else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from qkv.published.listing import Listed, Publisher, RemoteFile


@dataclass
class StandIn:
    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    version: str = "one"
    """The ETag of all files; empty for none."""
    cut: int | None = None
    """The connection ends after this many bytes of a response."""
    piece: int = 1 << 16
    """Bytes that are sent at once."""
    knows_ranges: bool = True
    says_length: bool = True
    redirects: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Path and Range of each request."""

    def listed(self, *paths: str, hashes: bool = True, publisher: str = "argos") -> Listed:
        """A model with these files. Without hashes it is unverified."""
        return Listed(
            publisher=Publisher(
                name=publisher,
                publisher="A stand-in",
                repository="",
                commit="",
                license="",
                address=self.address,
                hosts=(self.address.split("/")[2],),
            ),
            name="tiny/ende",
            source="en",
            target="de",
            listed="",
            files=tuple(
                RemoteFile(
                    path=path,
                    size=len(self.files[path]) if hashes else None,
                    sha256=sha256(self.files[path]).hexdigest() if hashes else "",
                )
                for path in paths
            ),
        )


@contextmanager
def serving(server: StandIn) -> Iterator[StandIn]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, server)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.address = f"http://127.0.0.1:{http.server_port}/"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


def answer(request: BaseHTTPRequestHandler, server: StandIn) -> None:
    path, wanted = request.path.removeprefix("/"), request.headers.get("Range", "")
    server.requests.append((path, wanted))
    if path in server.redirects:
        request.send_response(302)
        request.send_header("Location", server.redirects[path])
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    if path not in server.files:
        request.send_error(404)
        return
    content = server.files[path]
    same = request.headers.get("If-Range") in (None, f'"{server.version}"')
    start = (
        int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and same and server.knows_ranges else 0
    )
    request.send_response(206 if start else 200)
    if start:
        request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    if server.version:
        request.send_header("ETag", f'"{server.version}"')
    if server.says_length:
        request.send_header("Content-Length", str(len(content) - start))
    request.end_headers()
    body = content[start:][: server.cut]
    for place in range(0, len(body), server.piece):
        request.wfile.write(body[place : place + server.piece])
        request.wfile.flush()
    request.close_connection = True
