"""The socket that a server listens on, and how its address is written."""

import errno
import socket

from qkv.flags import OptionMessageError

NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
BACKLOG = 2_048  # connections that wait to be accepted


def listen(host: str, port: int, *, fallback: bool = False) -> socket.socket:
    """A socket at this address, where clients can connect at once.

    Port 0 takes any free port, and so does `fallback` if the port is in use.
    """
    found = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        if found is not None:
            found.close()
        if getattr(error, "errno", None) in NOT_HERE or isinstance(error, socket.gaierror):
            raise OptionMessageError(
                "cannot listen on {address}: give {host} an address of this machine.", address=host
            ) from None
        if fallback and port:
            return listen(host, 0)
        raise OptionMessageError(
            "cannot listen on {address} port {number} ({error}): give another {port}, or 0 for any free one.",
            address=host,
            number=port,
            error=error,
        ) from None
    return found


def url_host(host: str) -> str:
    """The host as written in a URL."""
    if host in ("127.0.0.1", "0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host
