"""A port for HTTP, bound before its server runs, so that a port in use is found before a broker starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcompat.errors import UsageError
from kcompat.net.listener import ListenerError
from kcompat.net.sockets import bound
from kcompat.node.listeners import reachable_host
from kcompat.wording import as_address

if TYPE_CHECKING:
    import socket

LOOPBACK: Final = "127.0.0.1"


def listening(what: str, host: str, port: int) -> socket.socket:
    """Return a socket whose clients wait until they are served; port 0 stands for a free one. `what` names
    the port in sentences, such as "control port".

    Raises:
        UsageError: the libraries for HTTP are not installed.
        ListenerError: the port is in use.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(f"a {what} needs libraries for HTTP: pip install 'kcompat[http]'") from error
    try:
        sock = bound(host, port)
        sock.listen()
    except OSError as error:
        raise ListenerError(
            f"The {what} cannot listen on {as_address(host or '*', port)}: {error.strerror or error}."
        ) from error
    return sock


def url_of(host: str, sock: socket.socket) -> str:
    """Return the base URL of a port that is bound to `host`, for programs on this machine."""
    return f"http://{as_address(reachable_host(host), sock.getsockname()[1])}"
