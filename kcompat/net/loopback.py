"""Listening at `localhost`, which is one IPv4 address and one IPv6 address.

Clients that connect to `localhost` try either address first. If a broker listened at one of them alone, a
connection to the other would be refused, or accepted by another program.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

from kcompat.net.listener import ListenerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcompat.net.answers import FrameHandler
    from kcompat.net.hub import Hub
    from kcompat.net.listener import BoundListener

LOCALHOST: Final = "localhost"
IPV4: Final = "127.0.0.1"
IPV6: Final = "::1"
ATTEMPTS: Final = 10
"""Maximum number of ports of the system's choice that are tried until one is free at both addresses."""


class JoinedListener:
    """Listeners at several addresses of one host and one port that serve as one `BoundListener`."""

    def __init__(self, host: str, listeners: Sequence[BoundListener]) -> None:
        self.host = host
        self.name = listeners[0].name
        self.port = listeners[0].port
        self._listeners = listeners

    def start(self, hub: Hub, handler: FrameHandler) -> None:
        for listener in self._listeners:
            listener.start(hub, handler)

    def pause(self) -> None:
        for listener in self._listeners:
            listener.pause()

    def close(self) -> None:
        for listener in self._listeners:
            listener.close()


def bind_localhost(port: int, bind_at: Callable[[str, int], BoundListener]) -> JoinedListener:
    """Bind to the loopback addresses that this machine has, at one port; 0 stands for a port free at all of
    them.

    `bind_at(host, port)` binds to one address. Raises `ListenerError`.
    """
    for attempt in range(1, ATTEMPTS + 1):
        bound = [bind_at(IPV4, port)]
        try:
            if has_ipv6_loopback():
                bound.append(bind_at(IPV6, bound[0].port))
        except ListenerError:
            bound[0].close()
            if port or attempt == ATTEMPTS:
                raise
        else:
            break
    return JoinedListener(LOCALHOST, bound)


def has_ipv6_loopback() -> bool:
    """Return whether this machine has the address `::1`."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind((IPV6, 0))
    except OSError:
        return False
    return True
