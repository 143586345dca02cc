"""The end of a socket."""

from __future__ import annotations

from contextlib import suppress
from socket import SHUT_RDWR, socket


def hang_up(sock: socket) -> None:
    """Close a socket for all who hold it: a forked child may, and the peer would wait for that one to end."""
    with suppress(OSError):  # the peer has left
        sock.shutdown(SHUT_RDWR)
    sock.close()
