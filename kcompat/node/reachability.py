"""A warning for clients on other machines that are told a loopback address, which means their own machine:
the most frequent mistake with `advertised.listeners`.
"""

from __future__ import annotations

import socket
import struct
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kcompat.config.listeners import is_loopback
from kcompat.notices.causes import ADVERTISED_ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcompat.net.interception import ConnectionObserver, ObservedConnection
    from kcompat.node.lifetime import Lifetime
    from kcompat.node.listeners import ServedListener
    from kcompat.notices.notices import Notices

_ROUTES = Path("/proc/net/route")


class LoopbackWarning:
    """A `ConnectionObserver` that warns of clients that are told an address they cannot reach."""

    def __init__(self, told: dict[str, str], notices: Notices) -> None:
        """Prepare the warning; `told` has the loopback address that the clients of a listener are told, by
        the listener's name.
        """
        self._told = told
        self._notices = notices

    def opened(self, connection: ObservedConnection) -> None:
        told, host = self._told.get(connection.listener_name), connection.peer_host
        if told is None or is_loopback(host) or host == connection.local_address[0] or host == gateway():
            return
        listener = connection.listener_name
        self._notices.tell(ADVERTISED_ELSEWHERE, host, listener=listener, told=told)

    def closed(self, connection: ObservedConnection, reason: str) -> None:
        pass

    def complained(self, host: str, message: str) -> None:
        pass


def warn_of_loopback(
    served: Iterable[ServedListener],
    notices: Notices,
    observers: list[ConnectionObserver],
    lifetime: Lifetime,
) -> None:
    """Add the warning to the observers of a broker, if its listeners need it."""
    told = {
        each.name: f"{each.told[0]}:{each.told[1]}"
        for each in served
        if each.told is not None and is_loopback(each.told[0]) and not is_loopback(each.host)
    }
    if told:
        warning = LoopbackWarning(told, notices)
        observers.append(warning)
        lifetime.began(lambda: observers.remove(warning), lambda: observers.remove(warning))


@cache
def gateway() -> str:
    """Return the address of the default gateway, or an empty text if it is not known.

    Connections to a published port of a container may seem to come from there, although their clients are on
    the machine that runs the container and reach the port as `localhost`.
    """
    try:
        lines = _ROUTES.read_text().splitlines()
        [found, *_] = [fields[2] for fields in map(str.split, lines) if fields[1] == "00000000"]
        return socket.inet_ntoa(struct.pack("<I", int(found, 16)))
    except (OSError, ValueError, IndexError):
        return ""
