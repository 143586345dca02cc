"""TCP sockets: binding one to an address to listen on it or to hold its port, and closing a connected one."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress

from kcompat import capabilities
from kcompat.net.listener import ListenerError


def bound(host: str, port: int) -> socket.socket:
    """Return a non-blocking socket bound to the first address of `host`, where IPv4 comes before IPv6.

    An empty host stands for all addresses, port 0 for a port of the system's choice. Raises OSError.
    """
    if not host:
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        return _bound_to(family, ("", port))
    try:
        name = host.encode() if _is_plain(host) else host
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError:  # an empty label, or one of more than 63 characters
        raise OSError(errno.EINVAL, "that is not the name of a host") from None
    family, *_, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return _bound_to(family, address)


def _is_plain(host: str) -> bool:
    """Return whether a host needs no conversion by IDNA, whose tables take half a megabyte of memory."""
    return host.isascii() and all(0 < len(label) < 64 for label in host.split("."))


class HeldPort:
    """A port of the system's choice, held while listeners open and close on it.

    On Linux a bound socket that never listens keeps the system from giving the port away, above all as the
    source port of a connection. A listener can still bind to the port by its number, with SO_REUSEADDR. On
    other systems a second socket could not be bound to the port: the port is chosen there, but not held.
    """

    def __init__(self, host: str) -> None:
        """Bind to a free port of `host`. Raises `ListenerError`."""
        try:
            self._socket = bound(host, 0)
        except OSError as error:
            raise ListenerError(f"Cannot listen on {host or '*'}: {error.strerror or error}.") from error
        self.port: int = self._socket.getsockname()[1]
        if not capabilities.LINUX:
            self.release()

    def release(self) -> None:
        """Let the system give the port to other sockets."""
        self._socket.close()


def hang_up(sock: socket.socket) -> None:
    """Close a socket for all processes that hold it.

    A forked child may hold the socket too, and the peer would see no end until that child ends.
    """
    with suppress(OSError):  # the peer has left
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def _bound_to(family: int, address: object) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            only_v6 = address != ("", address[1])  # type: ignore[index]
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only_v6)
        sock.bind(address)  # type: ignore[arg-type]
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
